"""Fused kernels for CUDA tensors, in Triton: imported only when such a tensor arrives."""

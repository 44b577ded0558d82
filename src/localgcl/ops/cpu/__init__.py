"""Kernels for the CPU, compiled by numba when they are first used."""

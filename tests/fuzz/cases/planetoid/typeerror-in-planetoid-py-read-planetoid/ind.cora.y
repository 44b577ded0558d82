cnumpy.core.multiarray
_reconstruct
cnumpy
ndarray
.
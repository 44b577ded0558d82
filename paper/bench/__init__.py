"""`python -m paper bench`: measures time and memory of the library's parts beside plain PyTorch."""

"""Diagrams of the documentation, drawn by `python -m benchmarks.pictures`."""

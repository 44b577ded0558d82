"""The paper's tables, figures and theorems, with its printed numbers beside ours, and the benchmarks of the library's parts.

`python -m paper NAME` and `python -m paper bench NAME` run them from a checkout of the repository. This package serves the
repository and is not installed with localgcl; localgcl does not import it.
"""

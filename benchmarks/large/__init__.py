"""Graphs of any size, and what the stages of localgcl take on them."""

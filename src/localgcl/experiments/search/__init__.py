"""Search for settings on validation nodes: spaces, samplers, trials, a log that can be resumed, and the resulting recipe."""

from localgcl.experiments.search.space import Space as Space
from localgcl.experiments.search.space import read_space as read_space
from localgcl.experiments.search.tuning import Found as Found
from localgcl.experiments.search.tuning import tune as tune

__all__ = ["tune", "Found", "Space", "read_space"]

"""What is in a user's files, and what training on them would take: `localgcl inspect`."""

from localgcl.experiments.inspection.inspecting import inspect as inspect
from localgcl.experiments.inspection.inspecting import inspect_graph as inspect_graph

__all__ = ["inspect", "inspect_graph"]

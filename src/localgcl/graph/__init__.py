"""Graph: the one type that all other packages work on."""

from localgcl.graph.graph import Graph as Graph
from localgcl.graph.split import Split as Split

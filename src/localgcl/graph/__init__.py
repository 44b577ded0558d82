"""Graph: the one type that every other room speaks of."""

from localgcl.graph.graph import Graph as Graph
from localgcl.graph.graph import Split as Split

"""A method of one's own: nearer to a random neighbour than to a random node, by a margin. `python examples/new_method.py`"""

import dataclasses

import torch

import localgcl as lg
from localgcl.config import Checked, option
from localgcl.methods import METHODS, Batch, Method, Terms, configure
from localgcl.ops import sample_neighbours
from localgcl.training import fit


@dataclasses.dataclass(frozen=True)
class Options(Checked):
    margin: float = option(1.0, "by how much a random node has to be further", low=0)


class Triplet(Method):
    Options = Options
    idea, cost, paper = "neighbours nearer than random nodes", "O(N d)", "https://arxiv.org/abs/1503.03832"

    def loss(self, batch: Batch, generator: torch.Generator) -> Terms:
        z, n = self.encoder(batch.inputs, generator), batch.graph.num_nodes
        near = z[sample_neighbours(batch.graph.csr, torch.arange(n, device=z.device), 1, generator)[:, 0]]
        far = z[torch.randperm(n, generator=generator, device=z.device)]
        return {"loss": torch.nn.functional.triplet_margin_loss(z, near, far, margin=self.options.margin)}


METHODS["triplet"] = Triplet  # the one line that registers it

if __name__ == "__main__":
    graph = lg.sbm(1000, separation=2.0)
    for steps in (0, 50):
        z = fit(graph, configure("triplet", {"dim": 32, "steps": steps})).embed(graph)
        print(f"{steps:2} steps: accuracy {lg.evaluate(z, graph, steps=300).mean:.1f}%")

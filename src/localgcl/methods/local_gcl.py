"""Local-GCL: encode once, pull neighbours together, push all nodes apart. Nothing else is trained, sampled or augmented."""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from localgcl.config import MOST_DRAWN, MOST_FREQUENCIES, WIDEST, Checked, Config, option
from localgcl.graph import Graph
from localgcl.graph.csr import CSR
from localgcl.losses import hard_log_sums, local_terms
from localgcl.losses.local import LocalTerms, Positives
from localgcl.methods.base import Batch, Terms
from localgcl.methods.negatives import AllPairs
from localgcl.methods.parts import require_edges, require_two_nodes
from localgcl.nn import features
from localgcl.nn.features import MAPS, FeatureMap
from localgcl.nn.hops import Hops, columns_read
from localgcl.nn.layers import mlp_head
from localgcl.nn.memory import FLOAT, INDEX, encoder_memory, encoder_stacks
from localgcl.ops.sampling import block, draw_nodes, reached, step_generator, without_some
from localgcl.recipes.defaults import HOPS_NAMES, Chosen, hops_defaults
from localgcl.system.team import ALONE, Team, share


@dataclasses.dataclass(frozen=True)
class Options(Checked):
    """The loss and how its negative term is computed."""

    temperature: float = option(0.5, "tau: smaller makes close pairs count more", above=0, high=1000)
    positives: Positives = option("mean", "neighbours as positives: their mean, the most similar one, or by similarity")
    weight_gradient: bool = option(False, "let the weights of positives=weighted carry gradient")
    include_self: bool = option(False, "count a node as its own neighbour")
    negatives: str = option(
        "auto", "the all-pairs term: exact, or by random features; auto takes the cheaper", choices=features.negatives
    )
    num_features: int = option(4096, "D, the number of random frequencies", low=1, high=MOST_FREQUENCIES)
    frequencies: Literal["resampled", "fixed"] = option("resampled", "new random frequencies at each step, or one draw")
    frequency_law: Literal["correct", "printed"] = option("correct", "N(0, I/tau), or N(0, tau I) as the paper prints it")
    max_clamped: float = option(0.01, "stop when a larger share of the random-feature sums is invalid", low=0, high=1)
    hard_negatives: Literal["none", "progcl-mix"] = option("none", "add mixes of the hardest negatives to the all-pairs term")
    hard_start: float = option(0.5, "share of the steps that are trained before hard negatives are added", low=0, high=1)
    hard_pool: int = option(2048, "random nodes at each step among which hard negatives are looked for", low=2, high=MOST_DRAWN)
    hard_selected: int = option(
        256, "hard negatives of each node that are mixed, at most those of the pool", low=1, high=MOST_DRAWN
    )
    head: int = option(
        0, "width of a head between embedding and loss, thrown away after training; 0 for none", low=0, high=WIDEST, later=True
    )
    masked: float = option(0.0, "share of the positives that is left out, drawn at each step", low=0, high=0.99, later=True)


class LocalGCL(AllPairs):
    """Algorithm: z = encoder(X, A); minimise L_pos(z, neighbours) + L_neg(z, all nodes); the embedding is z.

    With `hard_negatives="progcl-mix"` the sum inside L_neg also has mixes of hard negatives (`losses.mixing`), once
    the share `hard_start` of the steps is done: before that, similarities say little about classes.
    """

    Options = Options
    idea = "neighbours attract, all nodes repel; kernelised, so linear in the graph"
    cost = "O(E d + N D log d) time, O(E + N) memory"
    paper = "https://arxiv.org/abs/2212.04604"
    distributes = True
    chosen_names = HOPS_NAMES
    encoders = ("gcn", "mlp", "hops")

    @classmethod
    def defaults_on(cls, graph: Graph, given: Mapping[str, Any]) -> Chosen:
        """Hops, unless another encoder is asked for."""
        over_hops = given.get("encoder", "hops") == "hops"
        return hops_defaults(graph, given) if over_hops else super().defaults_on(graph, given)

    def __init__(self, num_inputs: int, config: Config) -> None:
        super().__init__(num_inputs, config)
        self.unweighted = "positives max, the most similar neighbours," if self.options.positives == "max" else ""
        self.mixes = self.options.hard_negatives == "progcl-mix"
        # Mixing starts midway; fixed frequencies are drawn on the CPU and copied; masks change sizes. None can be recorded.
        changing = self.mixes or config.training.batch or self.options.masked
        self.static = not changing and self.options.frequencies == "resampled"
        self.widths = [stack[-1] for stack in encoder_stacks(num_inputs, config.encoder)]
        heads = self.widths if self.options.head else []
        self.heads = nn.ModuleList(mlp_head(width, self.options.head, width, "elu") for width in heads)
        self.hard_from = round(self.options.hard_start * config.training.steps)
        self.step = 0

    @classmethod
    def unshareable(cls, config: Config) -> str | None:
        options: Options = config.options
        if options.masked > 0:
            return f"masked is {options.masked}, which is drawn for each edge, but ranks have different ones; set it to 0"
        if options.hard_negatives != "none":
            return f"hard_negatives is {options.hard_negatives}, which needs all nodes in one process; set it to none"
        if options.negatives == "exact":
            return "negatives is exact, which needs all nodes in one process; take auto or sorf"
        return super().unshareable(config)

    @classmethod
    def compiles(cls, config: Config) -> bool:
        return config.options.negatives in ("auto", "sorf")

    @classmethod
    def memory(cls, num_nodes: int, num_edges: int, num_features: int, config: Config) -> int:
        """The encoder; unit rows of all parts of the embeddings, or three gradients of one; of each part eight numbers an edge.

        The negative term, and hard negatives, come in chunks of rows. A batch reads its nodes and their neighbours: the rows
        of two batches are held while one follows the other. After the last one the inputs are built once more.
        """
        options: Options = config.options
        edges, rows, taken = num_edges, num_nodes, 0
        parts = [stack[-1] for stack in encoder_stacks(num_features, config.encoder)]
        training = config.training
        if 0 < training.batch < num_nodes:
            degree = num_edges / num_nodes
            edges = round(training.batch * (min(degree, training.sampled) if training.sampled else degree))
            rows = min(num_nodes, training.batch + edges)
            taken = 2 * FLOAT * rows * columns_read(num_features, config.encoder) * len(parts)
        encoder = encoder_memory(num_nodes, num_edges, num_features, config.encoder, rows)
        passing = max(encoder.moving, FLOAT * rows * max(sum(parts), 3 * max(parts)))
        inputs = encoder.inputs * (2 if taken else 1) + taken
        heads = FLOAT * rows * sum(2 * options.head + 2 * width for width in parts) if options.head else 0
        return inputs + encoder.kept + passing + heads + 8 * FLOAT * edges * len(parts)

    @classmethod
    def batch_memory(cls, num_nodes: int, num_edges: int, num_features: int, config: Config) -> int:
        """As `memory`, which knows of batches; those of a GCN reach as many levels beyond the positives as it has layers."""
        if config.encoder.encoder != "gcn":
            return cls.memory(num_nodes, num_edges, num_features, config)
        training, whole = config.training, config.replace(batch=0)
        hidden, read = (
            reached(num_nodes, num_edges, training.batch, config.encoder.layers + more, training.sampled) for more in (0, 1)
        )
        # The first layer has the most rows; the features that it averages are read for it alone, and for the next batch.
        return cls.memory(*hidden, num_features, whole) + 2 * (FLOAT * read.nodes * num_features + 6 * INDEX * read.edges)

    def check(self, graph: Graph) -> None:
        require_two_nodes(graph, "there is nothing to contrast it with")
        require_edges(graph, "there are no positive pairs")

    def batches(self, graph: Graph, *, first: int = 0, team: Team = ALONE) -> Iterator[Batch]:
        self.step = first
        if not self.in_batches(graph):
            return super().batches(graph, first=first, team=team)
        return self._blocks(Batch(graph, self.encoder.reading(graph, team), reduce=team.reduce), first, team)

    def _blocks(self, whole: Batch, first: int, team: Team) -> Iterator[Batch]:
        """Random nodes with their neighbours, or this rank's share of them. Draws depend on the seed and the step alone.

        Only these nodes have terms, and they are negatives of each other; their neighbours, all or sampled ones, are positives.
        Embeddings are exact, but those of a GCN that averages over sampled neighbours, or normalises by batches.
        """
        neighbours, n = whole.graph.neighbourhoods, whole.graph.num_nodes
        training, device = self.config.training, next(self.parameters()).device
        part = share(training.batch, team)
        for step in itertools.count(first):
            generator = step_generator(training.seed, step)
            nodes = draw_nodes(n, training.batch, generator).to(whole.graph.device)
            rows, edges = block(neighbours, nodes, training.sampled, generator, part)
            inputs = self.encoder.take(whole.inputs, rows, training.sampled, generator)
            yield dataclasses.replace(whole, inputs=inputs, neighbours=edges.to(device))

    def loss(self, batch: Batch, generator: torch.Generator) -> Terms:
        """The sum of the terms of all parts of the encoder: one, or each channel of hops."""
        outputs = self._headed(self.encoder.parts(batch.inputs, generator))
        if self.options.masked:
            neighbours = without_some(batch.neighbours or batch.graph.csr, self.options.masked, generator)
            batch = dataclasses.replace(batch, neighbours=neighbours)
        parts = [self._terms(z, batch, generator, part) for part, z in enumerate(outputs)]
        positive, negative = (torch.stack(terms).sum() for terms in ([p.positive for p in parts], [p.negative for p in parts]))
        clamped = torch.stack([part.clamped for part in parts]).max()
        return {"loss": positive + negative, "positive": positive, "negative": negative, "clamped": clamped}

    def _terms(self, z: Float[Tensor, "n d"], batch: Batch, generator: torch.Generator, part: int) -> LocalTerms:
        neighbours = batch.neighbours or batch.graph.csr
        return local_terms(
            z,
            neighbours,
            temperature=self.options.temperature,
            positives=self.options.positives,
            weight_gradient=self.options.weight_gradient,
            negatives=self.negatives(z[: neighbours.num_rows], part, shared=batch.reduce is not None),
            include_self=self.options.include_self,
            counted=batch.counted,
            generator=generator,
            reduce=batch.reduce,
            added=self.hard(z, neighbours, generator),
        )

    def _headed(self, parts: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(head(z) for head, z in zip(self.heads, parts, strict=True)) if self.heads else parts

    def hard(self, z: Float[Tensor, "n d"], neighbours: CSR, generator: torch.Generator) -> Float[Tensor, " b"] | None:
        """The logarithm of what hard negatives add to each node's sum; None while mixing is off."""
        if not self.mixes or self.step < self.hard_from:
            return None
        options = self.options
        sizes = {"pool": options.hard_pool, "selected": options.hard_selected}
        return hard_log_sums(z, neighbours, temperature=options.temperature, generator=generator, **sizes)

    def after_step(self, step: int) -> None:
        self.step = step + 1

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *others: Any) -> None:
        state_dict.pop(f"{prefix}steps_done", None)  # version 0.1 kept the number of steps among the weights
        super()._load_from_state_dict(state_dict, prefix, *others)

    def feature_map(self, name: str) -> FeatureMap:
        options: Options = self.options
        fixed_seed = self.config.training.seed if options.frequencies == "fixed" else None
        return MAPS[name](options.num_features, fixed_seed, options.frequency_law)

    def compared(self, z: Float[Tensor, "n d"]) -> list[tuple[str, Float[Tensor, "n _"]]]:
        """The channels; what the heads make of them, if there are any."""
        names = self.encoder.names if isinstance(self.encoder, Hops) else ("",)
        rows = self._headed(z.split(self.widths, dim=1))
        return list(zip(names, rows, strict=True))

"""Method: an algorithm as batches to train on, a loss for each, embeddings, and a hook after each step."""

import abc
import dataclasses
import inspect
import itertools
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from localgcl.config import Config
from localgcl.graph import Graph
from localgcl.graph.csr import CSR
from localgcl.graph.mapped import blocks, shared_rows
from localgcl.nn.encoders import Encoder, Inputs, build_encoder, encoder_kind, with_dense_features
from localgcl.nn.features import FeatureMap
from localgcl.nn.memory import FLOAT, INDEX, encoder_memory
from localgcl.ops.negatives import Reduce
from localgcl.ops.sampling import draw_nodes, reached, sample_subgraph, step_generator
from localgcl.recipes.defaults import PLAIN_NAMES, Chosen, plain_defaults
from localgcl.system.team import ALONE, Team

NOTHING: Mapping[str, Any] = MappingProxyType({})

Terms = dict[str, Tensor]
"""Named scalars of one step; "loss" is the one that is minimised."""


@dataclasses.dataclass(frozen=True, eq=False)
class Batch:
    """What one step trains on.

    Args:
        graph: The graph, or the part of it that the step sees.
        inputs: What the encoder reads; each row gives one row of embeddings.
        neighbours: Row i lists the rows of the embeddings that are neighbours of row i. The graph's own edges when not given;
            rectangular if some rows of the embeddings are neighbours only (see `CSR`).
        counted: Mask of the rows of `neighbours` that have terms in the loss; all when not given.
        reduce: Sums a vector over ranks if nodes are spread over machines.
        whole: The graph that `graph` is a random part of; None where it is the whole one.
        seeds: The first nodes of such a part, which were drawn for their own sake; the others are their neighbourhoods.
    """

    graph: Graph
    inputs: Inputs
    _: dataclasses.KW_ONLY
    neighbours: CSR | None = None
    counted: Bool[Tensor, " b"] | None = None
    reduce: Reduce | None = None
    whole: Graph | None = None
    seeds: int | None = None

    def own(self, rows: Float[Tensor, "n d"]) -> Float[Tensor, "b d"]:
        """The rows of the nodes that have terms in the loss, where only seeds do."""
        return rows[: self.seeds]


class Kernel(NamedTuple):
    """A kernel that a run's loss estimated by random features.

    Args:
        name: The part of the embedding that it compares, such as a channel; empty where there is one.
        rows: What the loss compared of each node.
        features: The map.
        temperature: tau.
    """

    name: str
    rows: Float[Tensor, "n _"]
    features: FeatureMap
    temperature: float


class Method(nn.Module, abc.ABC):
    """One algorithm. Parameters, copies and heads live here; the maths is in `losses`.

    Others ask a method what it can do by its methods; they do not look at its name, options or class.
    """

    Options: ClassVar[type[Any]]
    """Frozen dataclass of what only this method needs."""
    idea: ClassVar[str]
    """One line for `localgcl methods`."""
    cost: ClassVar[str]
    """Time and memory of a step beyond the encoder."""
    fitter: ClassVar[str] = "steps"
    """What fits it, a name of `training.fitter.FITTERS`: gradient steps on its loss, or "none" where nothing is fitted."""
    learns: ClassVar[bool] = True
    """False for a baseline: comparisons show it beside the methods that learn."""
    static: bool = False
    """True if every step does the same operations on tensors of the same sizes and never needs a value on the host: a GPU then
    records and replays it. A method may decide by its options."""
    augments: ClassVar[bool] = False
    """True if it trains on changed copies of the graph: random views, diffusion, shuffled features."""
    unweighted: str = ""
    """What of its loss counts all edges alike, whatever they weigh, as the subject of a sentence; empty if nothing does. A
    method may decide by its options."""
    distributes: ClassVar[bool] = False
    """True if ranks that each hold some of the nodes can compute its loss (see `Batch.reduce` and `unshareable`)."""
    paper: ClassVar[str] = ""
    """Link to the publication."""
    defaults: ClassVar[dict[str, Any]] = {}
    """The method's own defaults for shared options (encoder, training, preparation), by name; the user's values win."""

    chosen_names: ClassVar[frozenset[str]] = PLAIN_NAMES
    """The settings that `defaults_on` may choose, by name: for help texts."""

    encodes: ClassVar[bool] = True
    """True if it has an encoder; a method without one defines its own `prepare`, `embed` and `refresh_statistics`."""

    encoders: ClassVar[tuple[str, ...]] = ("gcn", "mlp")
    """Encoders that it can train. Channels of hops have a loss each, which most methods do not define."""

    encoder: Encoder
    """Maps features to embeddings."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Takes a method written for version 0.1.0, or says in one line what to change."""
        super().__init_subclass__(**kwargs)
        if "trained" in vars(cls):  # one word then for what `fitter` and `learns` say
            cls.fitter = "steps" if vars(cls)["trained"] else "none"
        if "team" not in inspect.signature(cls.batches).parameters:
            raise TypeError(
                f"{cls.__name__}.batches takes reduce, which is team now: declare batches(self, graph, *, first=0, "
                "team=ALONE), with ALONE of localgcl.system.team, and read team.reduce"
            )
        if hasattr(cls, "embed_rows"):
            raise TypeError(f"{cls.__name__}.embed_rows(graph) is embed_blocks(graph, rows, team) now; rename it")

    def __init__(self, num_inputs: int, config: Config) -> None:
        """Builds the encoder. A method adds what else it trains."""
        super().__init__()
        self.config, self.options = config, config.options
        self.chosen: dict[str, Any] = {}
        if self.encodes:
            if config.encoder.encoder not in self.encoders:
                raise ValueError(
                    f"encoder is {config.encoder.encoder!r}, but {config.method} takes {' or '.join(self.encoders)}; "
                    "hops is for local-gcl"
                )
            self.encoder = build_encoder(num_inputs, config.encoder)

    @classmethod
    def defaults_on(cls, graph: Graph, given: Mapping[str, Any]) -> Chosen:  # noqa: ARG003
        """Settings for a graph without a recipe, each with its reason; `given` are those that the user has set."""
        return plain_defaults(graph)

    @classmethod
    def memory(cls, num_nodes: int, num_edges: int, num_features: int, config: Config) -> int:
        """Bytes that training needs beyond parameters and the graph: what all steps share, and the peak of one step.

        By default the encoder's inputs, one pass and its backward; a method adds what else it keeps. Of the two forms of a
        method, "auto" counts as faithful, so that this number can be passed to `parts.choose_mode`.

        Args:
            num_nodes: Nodes of the prepared graph.
            num_edges: Its stored edges, both directions counted.
            num_features: Feature columns; sparse features count as the number of dense columns that take the same memory.
            config: All settings.
        """
        return encoder_memory(num_nodes, num_edges, num_features, config.encoder).trained

    @classmethod
    def batch_memory(cls, num_nodes: int, num_edges: int, num_features: int, config: Config) -> int:
        """Peak bytes with mini-batches: the current batch and the prefetched one."""
        training = config.training
        part = reached(num_nodes, num_edges, training.batch, _levels(config), training.sampled)
        drawn = 2 * (FLOAT * part.nodes * num_features + 6 * INDEX * part.edges)
        return drawn + cls.memory(*part, num_features, config)

    @classmethod
    def compiles(cls, config: Config) -> bool:  # noqa: ARG003
        """Whether training on a CPU compiles kernels, which takes memory."""
        return False

    @classmethod
    def unshareable(cls, config: Config) -> str | None:
        """Why ranks that each have some of the nodes cannot train it, and the way out; None if they can."""
        if not cls.distributes:
            return f"{config.method} needs all nodes in one process; take local-gcl"
        return encoder_kind(config.encoder).unshareable(config.encoder)

    @classmethod
    def streams(cls) -> bool:
        """Whether embeddings can be computed a block of rows at a time: as the encoder's output, or as the method says."""
        return cls.encodes and (cls.embed is Method.embed or cls.embed_blocks is not Method.embed_blocks)

    @classmethod
    def reads_from_disk(cls, graph: Graph, config: Config) -> bool:
        """Whether a run leaves the graph on disk: one of a folder, whose batches need rows and not the whole graph."""
        readable = graph.x.layout == torch.strided or (
            cls.encodes and encoder_kind(config.encoder).reads_sparse_rows(config.encoder)
        )
        return graph.folder is not None and readable and cls.streams() and 0 < config.training.batch < graph.num_nodes

    @classmethod
    def embeds_in_layers(cls, num_nodes: int, config: Config) -> bool:
        """Whether a graph in memory is embedded one layer after the other in blocks of rows, as a GCN trained in batches."""
        return cls.streams() and encoder_kind(config.encoder).layer_by_layer and 0 < config.training.batch < num_nodes

    def reach(self) -> int | None:
        """How often an embedding averages over neighbours: that of a node depends on the nodes within so many steps.

        None where it depends on the whole graph, or may: a method with an `embed` of its own says how far it reaches.
        """
        return encoder_kind(self.config.encoder).reach(self.config.encoder) if type(self).embed is Method.embed else None

    def resolve(
        self, num_nodes: int, device: torch.device, *, shared: bool = False, known: Mapping[str, Any] = NOTHING
    ) -> None:
        """Chooses once, before training, what depends on the size of the graph or on the machine, and keeps it in `chosen`.

        The run folder stores `chosen`, so that a run goes on, embeds and reports elsewhere with the same choices.

        Args:
            num_nodes: Nodes of the graph.
            device: Where it trains.
            shared: Whether ranks share the nodes.
            known: `chosen` of the run that goes on; empty for a new one, or one from before choices were stored.
        """

    def choices(self, num_nodes: int, device: torch.device) -> list[str]:  # noqa: ARG002
        """Lines for the user about what was chosen, and what it costs."""
        return []

    def kernels(self, z: Float[Tensor, "n d"]) -> tuple[tuple[Kernel, ...], str]:  # noqa: ARG002
        """The kernels that the loss estimated, on a run's embeddings `z`; and why there are none, where there are none."""
        return (), f"The loss of {self.config.method} has no kernel that is approximated."

    def check(self, graph: Graph) -> None:
        """Raises ValueError when the method cannot learn from this (prepared) graph."""

    def prepare(self, graph: Graph) -> Batch:
        """The whole graph as one batch: everything that stays the same over steps."""
        if self.augments:
            graph = with_dense_features(graph)
        return Batch(graph, self.encoder.inputs(graph))

    def batches(self, graph: Graph, *, first: int = 0, team: Team = ALONE) -> Iterator[Batch]:
        """Yields the batch of step `first`, of the next step, and so on without end: always the whole graph, or parts of it.

        A batch may depend only on the seed and the number of its step, so that a resumed run sees the same batches. By
        default a part is the graph induced by `batch` random nodes, the seeds, and by their neighbourhoods, `sampled` nodes
        of each, as far as the encoder reaches (`ops.sampling.sample_subgraph`). The method treats it as a graph of its own.
        That is not exact: negatives, summaries, clusters and batch-norm statistics are those of the part, and the degrees of
        nodes at its border, by which a GCN normalises, are too small.

        Args:
            graph: The prepared graph.
            first: The step to begin with.
            team: The processes that train together, each on its share; for methods whose loss `distributes`.
        """
        if team.reduce is not None and not self.distributes:
            raise ValueError(f"{type(self).__name__} cannot be trained by several ranks; its loss needs all nodes on one")
        if self.in_batches(graph):
            return self._parts(graph, first)
        return itertools.repeat(dataclasses.replace(self.prepare(graph), reduce=team.reduce))

    def _parts(self, graph: Graph, first: int) -> Iterator[Batch]:
        training, graph = self.config.training, with_dense_features(graph)
        device = next((parameter.device for parameter in self.parameters()), graph.device)
        for step in itertools.count(first):
            generator = step_generator(training.seed, step)
            seeds = draw_nodes(graph.num_nodes, training.batch, generator).to(graph.device)
            part = sample_subgraph(graph, seeds, _levels(self.config), training.sampled, generator)
            yield dataclasses.replace(self.prepare(part.to(device)), whole=graph, seeds=training.batch)

    def blocks(self, graph: Graph, team: Team = ALONE) -> Iterator[Batch]:
        """Yields each node once, in order, some at a time: this process's share. One batch if steps read the whole graph."""
        if not self.in_batches(graph):
            yield dataclasses.replace(self.prepare(graph), reduce=team.reduce)
            return
        whole = Batch(graph, self.encoder.reading(graph, team), reduce=team.reduce)
        for rows in blocks(shared_rows(graph.num_nodes, team)):
            nodes = torch.arange(rows.start, rows.stop, device=graph.device)
            yield dataclasses.replace(whole, inputs=self.encoder.take(whole.inputs, nodes))

    def in_batches(self, graph: Graph) -> bool:
        """Whether a step reads some nodes only."""
        return 0 < self.config.training.batch < graph.num_nodes

    @abc.abstractmethod
    def loss(self, batch: Batch, generator: torch.Generator) -> Terms:
        """The terms of one step. Everything random is drawn from `generator`."""

    def embed(self, batch: Batch) -> Float[Tensor, "n d"]:
        """Embeddings of the nodes of a prepared graph, seen in training or not; by default the encoder's output."""
        result: Tensor = self.encoder(batch.inputs)
        return result

    def watch(self, values: dict[str, Any]) -> None:
        """Raises ValueError when the logged terms show that training cannot be trusted."""

    def after_step(self, step: int) -> None:
        """Called after each optimiser step."""

    def refresh_statistics(self, batch: Batch) -> None:
        """Called once after training: recomputes the batch-norm statistics with the final weights, over the whole graph."""
        if batch.whole is not None or batch.neighbours is not None:
            self.encoder.refresh_rows(batch.whole or batch.graph)
        else:
            self.encoder.refresh_statistics(batch.inputs)

    def embed_blocks(self, graph: Graph, rows: range, team: Team = ALONE) -> Iterator[Float[Tensor, "b d"]]:
        """`embed` of a range of nodes, a block of rows at a time, in order; for methods that `stream`.

        Processes of a team each have a range, and compute together what all of them need.
        """
        return self.encoder.blocks(graph, rows, team)


def _levels(config: Config) -> int:
    """Levels of neighbours that a part of a graph needs: as many as the encoder reaches, at least one."""
    return max(1, encoder_kind(config.encoder).reach(config.encoder))

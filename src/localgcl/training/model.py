"""A trained model: configuration, weights and scaling statistics. It embeds any graph with the same feature columns."""

import dataclasses
import os
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from localgcl.config import Config, LocalGCLWarning
from localgcl.graph import Graph
from localgcl.graph.checks import column_names
from localgcl.graph.mapped import cache_folder, mapped, mapped_statistics
from localgcl.graph.prepare import ColumnStatistics, column_statistics, match_features, prepare, with_as_many_columns
from localgcl.losses.finite import non_finite_rows
from localgcl.methods import METHODS, Method, find_method
from localgcl.nn.encoders import encoder_kind
from localgcl.system.devices import choose_device
from localgcl.system.memory import explained
from localgcl.system.team import ALONE, Team
from localgcl.system.text import shown
from localgcl.training.memory import check_disk
from localgcl.training.run import RunFolder, require_resumable
from localgcl.training.weights import check_statistics, check_tensors, declared_method, load_state, read_tensors, write_tensors

_INITIALISING = threading.Lock()


@dataclasses.dataclass(eq=False)
class Model:
    """A trained method, with everything that embedding a graph needs."""

    config: Config
    method: Method
    num_inputs: int
    statistics: ColumnStatistics
    history: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    step: int = 0
    feature_names: tuple[str, ...] | None = None
    """The feature columns of the training graph, by which those of other graphs are matched; None if they had no names."""
    structural: bool | None = None
    """Whether the features of training were computed from the edges; None in run folders from before this was recorded."""

    @classmethod
    def fresh(cls, config: Config, num_inputs: int, statistics: ColumnStatistics) -> "Model":
        """A model with initial weights, drawn on the CPU so that a seed gives the same weights on every device."""
        # Layers draw from torch's global generator, which threads share: one at a time, and its state is restored.
        with _INITIALISING, torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.training.seed)
            method = METHODS[config.method](num_inputs, config)
        return cls(config, method, num_inputs, statistics)

    @property
    def device(self) -> torch.device:
        return next((parameter.device for parameter in self.method.parameters()), torch.device("cpu"))

    @explained("embedding a graph", "embed a part of it, or take a machine with more memory")
    @torch.no_grad()
    def embed(self, graph: Graph) -> Float[Tensor, "n d"]:
        """Embeddings of every node, on the CPU. Nodes and edges may be new; the feature columns must be those of training.

        Columns are matched by name, and by position where the features of training or of `graph` have no names (see
        `match_features`).
        """
        start, joined = 0, torch.empty(0, 0)
        for block in self.embed_blocks(graph):  # two copies of them all are never held
            if len(block) == graph.num_nodes:
                return block
            joined = torch.empty(graph.num_nodes, block.shape[1]) if start == 0 else joined
            joined[start : start + len(block)] = block
            start += len(block)
        return joined

    @torch.no_grad()
    def embed_prepared(self, prepared: Graph) -> Float[Tensor, "n d"]:
        """Embeddings of every node, on the CPU. Columns are matched, edges and features are prepared already."""
        self.method.eval()
        return _finite(self.method.embed(self.method.prepare(prepared.to(self.device))).cpu())

    @torch.no_grad()
    def embed_blocks(
        self, graph: Graph, rows: range | None = None, *, team: Team = ALONE, cache: "Path | None" = None
    ) -> Iterator[Float[Tensor, "b d"]]:
        """Embeddings a block of rows at a time, in order: one block, unless the method can embed a part of the rows.

        Args:
            graph: The graph.
            rows: The nodes; all when not given.
            team: Processes that each embed a range of nodes, and compute together what all of them need.
            cache: Where to keep rows if the graph folder cannot be written to.
        """
        graph = self.matched(graph)
        rows = range(graph.num_nodes) if rows is None else rows
        kind = type(self.method)
        by_rows = kind.reads_from_disk(graph, self.config) and not encoder_kind(self.config.encoder).layer_by_layer
        if team.reduce is not None and not by_rows:
            raise ValueError(
                f"{team.size} ranks embed by rows, which takes a run of hops on batches smaller than the graph, and a folder "
                "with the columns of training in their order; leave torchrun and --engine out"
            )
        prepared = self.prepared(graph, cache)
        self.method.eval()
        if prepared.on_disk is None and not kind.embeds_in_layers(graph.num_nodes, self.config):
            yield self.embed_prepared(prepared)[rows.start : rows.stop]
            return
        for block in self.method.embed_blocks(prepared, rows, team):
            yield _finite(block.cpu())

    def prepared(self, graph: Graph, cache: "Path | None" = None) -> Graph:
        """The graph as the method reads it: in memory, or mapped. `cache` keeps rows if the graph folder cannot."""
        if not type(self.method).reads_from_disk(graph, self.config):
            return prepare(graph, self.config.preparation, self.statistics)
        if (reason := encoder_kind(self.config.encoder).unstreamable(self.config.encoder)) is not None:
            raise ValueError(reason)
        assert graph.folder is not None
        place = cache_folder(graph.folder, cache)
        check_disk(graph, self.config, place)
        return mapped(graph, self.config.preparation, self.statistics, place)

    def finish(self, run: RunFolder | None) -> None:
        """Counts the steps after training, and stores the model in the run folder, if there is one."""
        self.method.eval()
        self.step = int(self.history[-1]["step"]) + 1 if self.history else 0
        if run is not None:
            self.save(run)

    def matched(self, graph: Graph) -> Graph:
        """The graph with the feature columns of training, in their order (see `match_features`, `with_as_many_columns`)."""
        if graph.structural and self.structural is False:
            raise ValueError(
                f"the graph has no features but those computed from its edges, and the model was trained on {self.num_inputs} "
                "feature columns; give the features of its nodes, in the same columns"
            )
        graph = match_features(with_as_many_columns(graph, self.num_inputs), self.feature_names)
        if graph.num_features != self.num_inputs:
            raise ValueError(
                f"the graph has {graph.num_features} feature columns, but the model was trained on {self.num_inputs}; "
                "give the same columns in the same order"
            )
        return graph

    def save(self, folder: "str | os.PathLike[str] | RunFolder") -> None:
        """Writes the weights and, into a new folder, the configuration."""
        made = {"chosen": self.method.chosen} if self.method.chosen else {}
        run = (
            folder
            if isinstance(folder, RunFolder)
            else RunFolder.create(folder, self.config, {}, made, feature_names=self.feature_names)
        )
        tensors = {f"method.{name}": value for name, value in self.method.state_dict().items()}
        tensors |= {f"statistics.{name}": value for name, value in self.statistics.items()}
        facts = {"num_inputs": self.num_inputs, "step": self.step, "structural": self.structural}
        write_tensors(run.weights, tensors, facts)

    @classmethod
    def load(cls, folder: "str | os.PathLike[str] | RunFolder", device: str = "cpu") -> "Model":
        """Reads a run folder."""
        run = folder if isinstance(folder, RunFolder) else RunFolder.open(folder)
        if not run.weights.exists():
            require_resumable(run.path)
            raise FileNotFoundError(
                f"{run.path} has no {run.weights.name} yet: its training was cut off; finish it with --resume --out {run.path}"
            )
        tensors, facts = read_tensors(run.weights)
        try:
            model = cls._restored(run.config, tensors, facts)
            model.feature_names = column_names(run.feature_names, model.num_inputs)
        except ValueError as error:
            raise ValueError(
                f"{run.weights} does not fit config.toml beside it: {shown(error)}; train again or restore both"
            ) from error
        model.method.to(choose_device(device))
        try:
            model.history = run.read_metrics()
        except ValueError as error:  # embedding does not need it
            warnings.warn(f"{error}; the model is loaded without it", LocalGCLWarning, stacklevel=2)
        return model

    @classmethod
    def _restored(cls, config: Config, tensors: dict[str, Tensor], facts: dict[str, Any]) -> "Model":
        """The model that was stored; ValueError unless everything in the file is what `config` asks for."""
        for name, low in (("num_inputs", 1), ("step", 0)):
            if type(facts.get(name)) is not int or not low <= facts[name] < 2**31:
                raise ValueError(f"{name} is {facts.get(name)!r}, not a number between {low} and 2**31")
        if facts.get("structural") not in (True, False, None):
            raise ValueError(f"structural is {facts['structural']!r}, not true, false or null")
        groups: dict[str, dict[str, Tensor]] = {"method": {}, "statistics": {}}
        for name, value in tensors.items():
            kind, _, rest = name.partition(".")
            if kind not in groups:
                raise ValueError(f"tensor {name} belongs to neither {' nor '.join(groups)}")
            groups[kind][rest] = value
        statistics = groups["statistics"]
        check_statistics(statistics, config.preparation.scaling, facts["num_inputs"])
        # A file of a kilobyte may ask for a network of terabytes: the two are compared before anything is allocated.
        declared = declared_method(config, facts["num_inputs"])
        if declared is not None:
            check_tensors(groups["method"], declared.state_dict())
        model = cls.fresh(config, facts["num_inputs"], statistics)
        load_state(model.method, groups["method"])
        model.step, model.structural = facts["step"], facts.get("structural")
        return model


def statistics_for(graph: Graph, config: Config) -> ColumnStatistics:
    """Column statistics of the training graph (see `column_statistics`), read in blocks where the method reads from disk."""
    on_disk = find_method(config.method).reads_from_disk(graph, config)
    return (mapped_statistics if on_disk else column_statistics)(graph, config.preparation.scaling)


def _finite(z: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    if broken := non_finite_rows(z):
        raise ValueError(
            f"the embeddings of {broken} of {len(z)} nodes are NaN or infinite; scale the features (for example scaling "
            "standard) or lower the learning rate, and train again"
        )
    return z

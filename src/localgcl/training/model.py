"""A trained model: configuration, weights and scaling statistics. It embeds any graph with the same feature columns."""

import dataclasses
import os
import threading
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from localgcl.config import Config
from localgcl.graph import Graph
from localgcl.graph.prepare import ColumnStatistics, prepare
from localgcl.methods import METHODS, Method
from localgcl.system.devices import choose_device
from localgcl.training.checkpoint import read_tensors, write_tensors
from localgcl.training.run import RunFolder

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

    @torch.no_grad()
    def embed(self, graph: Graph) -> Float[Tensor, "n d"]:
        """Embeddings of every node, on the CPU. Nodes and edges may be new; the feature columns must be those of training."""
        if graph.num_features != self.num_inputs:
            raise ValueError(
                f"the graph has {graph.num_features} feature columns, but the model was trained on {self.num_inputs}; "
                "give the same columns in the same order"
            )
        prepared = prepare(graph, self.config.preparation, self.statistics).to(self.device)
        self.method.eval()
        return self.method.embed(self.method.prepare(prepared)).cpu()

    def save(self, folder: "str | os.PathLike[str] | RunFolder") -> None:
        """Writes the weights and, into a new folder, the configuration."""
        run = folder if isinstance(folder, RunFolder) else RunFolder.create(folder, self.config, {})
        tensors = {f"method.{name}": value for name, value in self.method.state_dict().items()}
        tensors |= {f"statistics.{name}": value for name, value in self.statistics.items()}
        write_tensors(run.weights, tensors, {"num_inputs": self.num_inputs, "step": self.step})

    @classmethod
    def load(cls, folder: "str | os.PathLike[str] | RunFolder", device: str = "cpu") -> "Model":
        """Reads a run folder."""
        run = folder if isinstance(folder, RunFolder) else RunFolder.open(folder)
        if not run.weights.exists():
            raise FileNotFoundError(
                f"{run.path} has no {run.weights.name} yet: its training was cut off; finish it with --resume --out {run.path}"
            )
        tensors, metadata = read_tensors(run.weights)
        groups: dict[str, dict[str, Tensor]] = {"method": {}, "statistics": {}}
        for name, value in tensors.items():
            kind, _, rest = name.partition(".")
            groups[kind][rest] = value
        model = cls.fresh(run.config, metadata["num_inputs"], groups["statistics"])
        try:
            model.method.load_state_dict(groups["method"])
        except RuntimeError as error:
            raise ValueError(f"{run.weights} does not fit {Path(run.config_file).name} beside it: {error}") from error
        model.method.to(choose_device(device))
        model.step = metadata["step"]
        model.history = run.read_metrics()
        return model

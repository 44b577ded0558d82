"""What ranks do in tests: functions that torchrun's own launcher starts in processes of their own."""

import contextlib
import dataclasses
import io
import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import torch
from torch import Tensor
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from localgcl.commands import main
from localgcl.config import Config
from localgcl.graph import Graph, mapped
from localgcl.methods import configure
from localgcl.methods.local_gcl import LocalGCL
from localgcl.nn.encoders import Inputs
from localgcl.nn.hops import Hops
from localgcl.training import Model
from localgcl.training.model import statistics_for
from localgcl.training.ranks import Ranks, join_ranks, restarts
from localgcl.training.step import SharedStep, make_optimiser

Answers = dict[int, Any]


def launch(size: int, work: Callable[..., Any], *arguments: Any, max_restarts: int = 0) -> Answers:
    """What `work(*arguments)` returns on each of `size` ranks on this machine, as torchrun starts them, in order of rank."""
    # Imported once, and not by every rank; torch's optimisers import the last one.
    modules = [__name__, "localgcl.commands.train", "localgcl.commands.embed", "pyarrow.parquet", "torch._dynamo"]
    multiprocessing.set_forkserver_preload(modules)
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=size,
        run_id=str(uuid4()),
        rdzv_backend="c10d",
        rdzv_endpoint="127.0.0.1:0",
        local_addr="127.0.0.1",
        max_restarts=max_restarts,
        start_method="forkserver",
        monitor_interval=0.05,
    )
    # torch handles signals in a way of its own from then on, and other tests interrupt this process.
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)}
    try:
        answers: Answers = elastic_launch(config, work)(*arguments)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return dict(sorted(answers.items()))  # torch fills it in the order in which ranks end


def command(*arguments: str) -> tuple[int, str, str]:
    """Exit code, and what `localgcl ARGUMENTS` prints on stdout and on stderr."""
    torch.set_num_threads(1)
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as error:
        code = main(arguments)
    return code, out.getvalue(), error.getvalue()


def on_own_folder(folder: str, out: str) -> tuple[int, str, str]:
    """Trains on a graph folder that each rank has for itself."""
    return command("train", f"{folder}-{os.environ['RANK']}", "--out", out)


def signalled(number: int, step: int, *arguments: str) -> tuple[int, str, str]:
    """As `command`; when it is started for the first time, rank 1 gets a signal in a step."""
    update = SharedStep.update
    steps = iter(range(10**6))

    def counted(self: SharedStep, learning_rate: float) -> None:
        if next(steps) == step and os.environ["RANK"] == "1" and restarts() == 0:
            os.kill(os.getpid(), number)
        update(self, learning_rate)

    SharedStep.update = counted  # type: ignore[method-assign]
    try:
        return command(*arguments)
    finally:
        SharedStep.update = update  # type: ignore[method-assign]


def killed(step: int, *arguments: str) -> tuple[int, str, str]:
    return signalled(signal.SIGKILL, step, *arguments)


def interrupted(step: int, *arguments: str) -> tuple[int, str, str]:
    return signalled(signal.SIGINT, step, *arguments)


@dataclasses.dataclass(frozen=True)
class Measured:
    """Losses of all steps, the gradient of the first, embeddings, and the bytes sent for negatives in a step."""

    losses: list[float]
    gradient: Tensor
    z: Tensor
    sent: int


def measure(folder: str, settings: dict[str, Any]) -> dict[str, Measured]:
    """Trains in single and in double precision. The files of rows come in small blocks, so that all ranks have some."""
    torch.set_num_threads(1)
    mapped.BLOCK = 90
    graph, config = Graph.open(folder), configure("local-gcl", settings)
    with join_ranks() as ranks:
        return {"single": _measure(graph, config, ranks, double=False), "double": _measure(graph, config, ranks, double=True)}


def _measure(graph: Graph, config: Config, ranks: Ranks, *, double: bool) -> Measured:
    statistics = statistics_for(graph, config)
    model = Model.fresh(config, graph.num_features, statistics)
    prepared, method = model.prepared(graph), model.method
    assert isinstance(method, LocalGCL)
    assert isinstance(method.encoder, Hops)
    method.resolve(graph.num_nodes, torch.device("cpu"), shared=True)
    method.encoder.reading(prepared, ranks)
    if double:
        _make_double(method.encoder)
    before = ranks.traffic.negatives
    optimiser, generator = make_optimiser(method, config.training, prepared), torch.Generator().manual_seed(0)
    step, losses, gradients = SharedStep(method, optimiser, generator, ranks), [], []
    for _, batch in zip(range(config.training.steps), method.batches(prepared, team=ranks), strict=False):
        losses.append(float(step.loss(batch)["loss"]))
        gradients.append(torch.cat([_gradient(parameter).flatten() for parameter in method.parameters()]))
        step.update(config.training.learning_rate)
    method.eval()
    whole = method.prepare(prepared)
    inputs = method.encoder.take(whole.inputs, torch.arange(graph.num_nodes))
    z = method.embed(dataclasses.replace(whole, inputs=inputs)).detach()
    return Measured(losses, gradients[0], z, (ranks.traffic.negatives - before) // config.training.steps)


def _gradient(parameter: torch.nn.Parameter) -> Tensor:
    assert parameter.grad is not None
    return parameter.grad.clone()


def _make_double(encoder: Hops) -> None:
    """Weights, and rows that it reads, in double precision."""
    encoder.channels.double()
    take = encoder.take

    def doubled(inputs: Inputs, rows: Tensor, *others: Any) -> Inputs:
        taken = take(inputs, rows, *others)
        hops = (dataclasses.replace(hop, first=hop.first.double()) for hop in taken.hops if isinstance(hop.first, Tensor))
        return dataclasses.replace(taken, hops=tuple(hops))

    encoder.take = doubled  # type: ignore[method-assign]


def files(folder: Path) -> dict[str, bytes]:
    """The content of each file."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}

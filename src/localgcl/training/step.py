"""One training step: loss, backward, update. On a GPU it may be recorded once and replayed.

A step on a small graph is a hundred kernels of a few microseconds each, and launching them one by one takes longer than
running them. A CUDA graph launches them all at once. It can only repeat what was recorded, so it serves methods whose every
step does the same operations on the same tensors (`Method.static`), and settings that change nothing from step to step.
"""

from collections.abc import Callable

import torch

from localgcl.config import TrainingOptions
from localgcl.graph import Graph
from localgcl.methods import Batch, Method, Terms
from localgcl.system.team import ALONE, Team

# Steps that run eagerly before recording: in them kernels are compiled and buffers allocated.
_EAGER = 3
# Above this many nodes kernels run longer than their launches take.
SMALL = 2**15


def make_optimiser(method: Method, training: TrainingOptions, graph: Graph) -> torch.optim.Optimizer:
    """Adam or AdamW over the trainable parameters; capturable if the step will be recorded."""
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[training.optimiser]
    trained = [parameter for parameter in method.parameters() if parameter.requires_grad]
    optimiser: torch.optim.Optimizer = kind(
        trained,
        lr=training.learning_rate,
        weight_decay=training.weight_decay,
        capturable=recordable(method, training, graph),
    )
    return optimiser


def make_step(
    method: Method,
    training: TrainingOptions,
    graph: Graph,
    optimiser: torch.optim.Optimizer,
    generator: torch.Generator,
    team: Team = ALONE,
    asked: Callable[[], bool] = lambda: False,
) -> "EagerStep":
    """The step of a team; for one process a recorded step where that is possible and faster, else an eager one.

    `asked` says whether this process was asked to stop.
    """
    recorded = team.reduce is None and recordable(method, training, graph)
    kind = RecordedStep if recorded else EagerStep if team.reduce is None else SharedStep
    return kind(method, optimiser, generator, team, asked)


def recordable(method: Method, training: TrainingOptions, graph: Graph) -> bool:
    """True if every step repeats the one before, on a GPU, on a graph so small that launches dominate."""
    small = graph.device.type == "cuda" and graph.num_nodes <= SMALL
    same = training.schedule == "constant" and training.warmup == 0 and training.keep == "last"
    return method.static and small and same and training.steps > 2 * _EAGER


class EagerStep:
    """Launches kernels one by one: `loss` computes the terms, `update` does backward and optimiser."""

    def __init__(
        self,
        method: Method,
        optimiser: torch.optim.Optimizer,
        generator: torch.Generator,
        team: Team = ALONE,
        asked: Callable[[], bool] = lambda: False,
    ) -> None:
        self.method, self.optimiser, self.generator = method, optimiser, generator
        self.team, self.asked = team, asked

    @property
    def stopping(self) -> bool:
        """Whether training was asked to stop after this step."""
        return self.asked()

    def loss(self, batch: Batch) -> Terms:
        self.terms = self.method.loss(batch, self.generator)
        return self.terms

    def update(self, learning_rate: float) -> None:
        self._backward()
        self._move(learning_rate)

    def _backward(self) -> None:
        self.optimiser.zero_grad()
        self.terms["loss"].backward()
        # Values only: a term with its autograd history would tie the next step to this one's stream.
        self.terms = {name: term.detach() for name, term in self.terms.items()}

    def _move(self, learning_rate: float) -> None:
        for group in self.optimiser.param_groups:
            group["lr"] = learning_rate
        self.optimiser.step()


class SharedStep(EagerStep):
    """A step of many ranks. Each has a share of the loss; the gradients and terms of all are summed in one message.

    After `loss`, `stopping` says whether any rank was asked to stop. That travels in the same message, so that all ranks stop
    after the same step.
    """

    _stopping = False

    @property
    def stopping(self) -> bool:
        return self._stopping

    def loss(self, batch: Batch) -> Terms:
        super().loss(batch)
        self._backward()
        parameters = [parameter for group in self.optimiser.param_groups for parameter in group["params"]]
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        # The share of clamped rows is that of the worst channel on each rank: its sum is an upper bound.
        values = torch.stack([*self.terms.values(), torch.full_like(self.terms["loss"], self.asked())])
        message = torch.cat([gradient.flatten() for gradient in gradients] + [values.to(gradients[0])])
        *sums, values = self.team.sum(message).split([gradient.numel() for gradient in gradients] + [len(values)])
        for gradient, total in zip(gradients, sums, strict=True):
            gradient.copy_(total.view_as(gradient))
        self.terms = dict(zip(self.terms, values, strict=False))  # one more: whether to stop
        self._stopping = bool(values[-1])
        return self.terms

    def update(self, learning_rate: float) -> None:
        self._move(learning_rate)


class RecordedStep(EagerStep):
    """Runs the first steps eagerly, then replays one recorded step; `loss` does all of a step."""

    def __init__(
        self,
        method: Method,
        optimiser: torch.optim.Optimizer,
        generator: torch.Generator,
        team: Team = ALONE,
        asked: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(method, optimiser, generator, team, asked)
        self.learning_rate = optimiser.param_groups[0]["lr"]
        self.taken, self.stream = 0, torch.cuda.Stream()
        self.graph: torch.cuda.CUDAGraph | None = None
        self.batch: Batch | None = None

    def loss(self, batch: Batch) -> Terms:
        assert self.batch in (None, batch), "a recorded step has one batch"
        self.batch = batch
        self.taken += 1
        if self.taken <= _EAGER:
            # On a stream of its own, as recording will be, so that what libraries set up per stream is there by then.
            self.stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.stream):
                self._whole(batch)
            torch.cuda.current_stream().wait_stream(self.stream)
            return self.terms
        if self.graph is None:
            self.optimiser.zero_grad(set_to_none=True)
            self.graph = torch.cuda.CUDAGraph()
            self.graph.register_generator_state(self.generator)
            with torch.cuda.graph(self.graph, stream=self.stream):
                self._whole(batch)
            # To record, torch resets the generator's counter on that stream. On a busy GPU it may come late, after a replay
            # on this stream has set the counter, and the replay would draw the first step's random numbers again.
            torch.cuda.current_stream().wait_stream(self.stream)
        self.graph.replay()
        return self.terms

    def update(self, learning_rate: float) -> None:
        assert learning_rate == self.learning_rate, "a recorded step has one learning rate"

    def _whole(self, batch: Batch) -> None:
        super().loss(batch)
        super().update(self.learning_rate)

"""The training loop, flat."""

import math
import signal
import threading
import time
import warnings
from collections.abc import Sequence
from typing import Any

import torch

from localgcl.config import LocalGCLWarning, TrainingOptions
from localgcl.graph import Graph
from localgcl.losses.finite import non_finite_rows
from localgcl.methods import Batch, Method
from localgcl.ops.negatives import Reduce
from localgcl.system.progress import progress as shown_progress
from localgcl.system.team import ALONE
from localgcl.training.callbacks import Callback, StopTraining
from localgcl.training.checkpoint import Progress, load_checkpoint, save_checkpoint
from localgcl.training.collapse import collapse_message, effective_rank, spread
from localgcl.training.failed import TrainingFailed
from localgcl.training.ranks import Ranks
from localgcl.training.run import RunFolder
from localgcl.training.state import broken_tensor
from localgcl.training.step import SharedStep, make_optimiser, make_step

_REMEDY = "lower the learning rate or scale the features"
# Ranks that are started again lose at most this share of the steps.
_KEPT = 20


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was pressed. The run folder, if any, can be resumed; `rows` are the rows logged so far."""

    def __init__(self, message: str, rows: list[dict[str, Any]]) -> None:
        super().__init__(message)
        self.rows = rows


def train(
    method: Method,
    graph: Graph,
    training: TrainingOptions,
    *,
    reduce: Reduce | None = None,
    run: RunFolder | None = None,
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
    progress_bar: bool = False,
) -> list[dict[str, Any]]:
    """Fits `method` to the batches it makes of a prepared graph, both on one device, and returns the logged rows.

    With a run folder, metrics are written as they come and checkpoints every `checkpoint_every` steps; `resume` goes on
    from the newest one. `reduce` sums a vector over ranks (see `Method.batches`); as `Ranks`, each process trains on its share
    of every batch, and the first one has the run folder. Ranks always write checkpoints: with many machines, one will fail.

    Raises Interrupted on Ctrl-C, after writing a checkpoint, and TrainingFailed when loss, embeddings or weights are not
    finite.
    """
    ranks = reduce if isinstance(reduce, Ranks) else None
    optimiser = make_optimiser(method, training, graph)
    device = next((parameter.device for parameter in method.parameters()), graph.device)  # a mapped graph is on the CPU
    generator = torch.Generator(device).manual_seed(training.seed)
    progress = Progress()
    if run is not None and resume:
        progress = load_checkpoint(run.path, method, optimiser, generator, ranks or ALONE) or progress
    run = run if ranks is None or ranks.rank == 0 else None
    every = training.checkpoint_every or (0 if ranks is None else max(1, training.steps // _KEPT))
    rows = [row for row in run.read_metrics() if row["step"] < progress.step] if run is not None else []
    interrupts = _Interrupts()
    if ranks is None:
        optimisation = make_step(method, training, graph, optimiser, generator)
    else:
        optimisation = SharedStep(method, optimiser, generator, ranks, lambda: interrupts.asked)
    batches = method.batches(graph, first=progress.step, reduce=reduce)
    batch: Batch | None = None
    started = time.perf_counter() - progress.seconds
    method.train()
    with interrupts, shown_progress(training.steps, "step", initial=progress.step, shown=progress_bar) as bar:
        for step, batch in zip(range(progress.step, training.steps), batches, strict=False):
            terms = optimisation.loss(batch)
            if training.patience > 0 or training.keep == "best":
                _remember(terms["loss"], method, progress, training)
            optimisation.update(learning_rate(step, training))
            method.after_step(step)

            bar.update()
            progress.step = step + 1
            stale = training.patience > 0 and progress.step - progress.best_step >= training.patience
            done = progress.step == training.steps or stale
            if done:
                _restore_best(method, progress, training)
            # Reading a value makes the host wait for the GPU, so values are read only when a row is due.
            if step % training.log_every == 0 or done:
                progress.seconds = time.perf_counter() - started
                row = {"step": step, "seconds": round(progress.seconds, 4), **{k: float(v.detach()) for k, v in terms.items()}}
                _check(row, method)
                if step % max(1, training.steps // 5) == 0 or done:
                    row |= _health(method, batch, step, ranks, warn=done)
                rows.append(row)
                bar.set_postfix(loss=f"{row['loss']:.4f}")
                if _told(callbacks, row, ranks) and not done:
                    done = True
                    _restore_best(method, progress, training)
            # Ranks stop after the step in which they told each other.
            stopping = optimisation.stopping if isinstance(optimisation, SharedStep) else interrupts.asked
            if run is not None and not done and (stopping or _due(progress.step, every)):
                _check_weights(method, progress.step)
                run.write_metrics(rows)
                save_checkpoint(run.path, method, optimiser, generator, progress)
            if done:
                break
            if stopping:
                if progress.best:
                    method.load_state_dict(progress.best)
                method.refresh_statistics(batch)
                raise Interrupted(f"stopped after step {progress.step} of {training.steps}", rows)
    if run is not None:
        run.write_metrics(rows)
    method.refresh_statistics(batch or next(batches))
    _check_weights(method, progress.step)
    return rows


def _due(step: int, every: int) -> bool:
    return every > 0 and step % every == 0


class _Interrupts:
    """Delays Ctrl-C until the current step is done, because half a step cannot be resumed. A second Ctrl-C acts at once.

    Python delivers signals to the main thread only; in other threads this does nothing.
    """

    asked = False

    def __enter__(self) -> "_Interrupts":
        self._main = threading.current_thread() is threading.main_thread()
        if self._main:
            self._before = signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        if self._main:
            signal.signal(signal.SIGINT, self._before)

    def _ask(self, *_: object) -> None:
        self.asked = True
        signal.signal(signal.SIGINT, self._before)


def learning_rate(step: int, training: TrainingOptions) -> float:
    r"""Linear warm-up, then constant or cosine: $\eta\, t / w$ for t < w, then $\eta (1 + \cos(\pi (t-w) / (T-w))) / 2$."""
    top, warmup = training.learning_rate, training.warmup
    if step < warmup:
        return top * step / warmup
    if training.schedule == "constant":
        return top
    return top * (1 + math.cos(math.pi * (step - warmup) / (training.steps - warmup))) / 2


def _remember(loss: torch.Tensor, method: Method, progress: Progress, training: TrainingOptions) -> None:
    """Records a new lowest loss and, if the best weights are kept, the weights that gave it: those before the step."""
    value = float(loss.detach())
    if value < progress.best_loss:
        progress.best_loss, progress.best_step = value, progress.step + 1
        if training.keep == "best":
            progress.best = {name: tensor.detach().clone() for name, tensor in method.state_dict().items()}


def _told(callbacks: Sequence[Callback], row: dict[str, Any], ranks: Ranks | None) -> bool:
    """Calls all callbacks with a row; True if one of them ends training."""
    stop = False
    for callback in callbacks:
        try:
            callback(row)
        except StopTraining as error:
            if ranks is not None:
                raise ValueError("a callback cannot stop one of several ranks; leave it out, or set patience") from error
            stop = True
    return stop


def _restore_best(method: Method, progress: Progress, training: TrainingOptions) -> None:
    """Loads the best weights, if they are kept.

    Warns if they are the initial ones: DGI's loss, for example, can rise first and fall back late.
    """
    if not progress.best:
        return
    method.load_state_dict(progress.best)
    if progress.best_step == 1 < progress.step:
        remedy = f"raise patience from {training.patience}" if progress.step < training.steps else "train for more steps"
        warnings.warn(
            f"in {progress.step} steps the loss was never below its first value, {progress.best_loss:.4g}, so the weights that "
            f"are kept are the initial ones and nothing was learned; {remedy}, lower the learning rate, or set keep to last",
            LocalGCLWarning,
            stacklevel=3,
        )


def _check(row: dict[str, Any], method: Method) -> None:
    if not math.isfinite(row["loss"]):
        raise TrainingFailed(f"the loss became {row['loss']} at step {row['step']}; {_REMEDY}")
    try:
        method.watch(row)
    except ValueError as error:
        raise TrainingFailed(str(error)) from error


def _check_weights(method: Method, steps: int) -> None:
    """Weights are checked before they are stored; the loss shows what is wrong with them only a step later."""
    if (name := broken_tensor(method)) is not None:
        raise TrainingFailed(f"after {steps} steps, {name} has NaN or infinite values; {_REMEDY}")


@torch.no_grad()
def _health(method: Method, batch: Batch, step: int, ranks: Ranks | None, *, warn: bool) -> dict[str, float]:
    """Spread and rank of the rows of the batch that this process encodes."""
    z = method.embed(batch)
    broken = non_finite_rows(z)
    if ranks is not None:  # all stop, or none
        broken = int(ranks.add_up(torch.tensor(float(broken))))
    if broken:
        raise TrainingFailed(f"the embeddings of {broken} nodes became NaN or infinite at step {step}; {_REMEDY}")
    health = {"spread": spread(z), "rank": effective_rank(z)}
    message = collapse_message(**health)
    if warn and message:
        warnings.warn(message, LocalGCLWarning, stacklevel=2)
    return health

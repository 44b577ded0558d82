"""Gradient steps: the training loop, flat."""

import math
import warnings
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from localgcl.config import LocalGCLWarning, TrainingOptions
from localgcl.losses.finite import non_finite_rows
from localgcl.methods import Batch, Method
from localgcl.system.team import Team
from localgcl.training.checkpoint import Progress
from localgcl.training.run import TrainingFailed
from localgcl.training.session import Interrupted, Row, Session, Stream
from localgcl.training.step import make_optimiser, make_step
from localgcl.training.weights import broken_tensor

_REMEDY = "lower the learning rate or scale the features"
# Teams that are started again lose at most this share of the steps.
_KEPT = 20
# Rows of which the effective rank is computed.
_SAMPLE = 256


def fit_by_steps(method: Method, stream: Stream, session: Session) -> list[Row]:
    """Fits a method by gradient steps on the batches of a stream, and returns the logged rows.

    With a run folder, metrics are written as they come and checkpoints every `checkpoint_every` steps. Of a team, each process
    trains on its share of every batch; teams of several always write checkpoints: with many machines, one will fail.

    Raises Interrupted on Ctrl-C, after writing a checkpoint, and TrainingFailed when loss, embeddings or weights are not
    finite.
    """
    training, team, interrupts = method.config.training, session.team, session.interrupts
    optimiser = make_optimiser(method, training, stream.graph)
    progress = session.restored(method, optimiser)
    optimisation = make_step(method, training, stream.graph, optimiser, session.generator, team, lambda: interrupts.asked)
    every = training.checkpoint_every or (0 if team.reduce is None else max(1, training.steps // _KEPT))
    batches = stream.batches(progress.step)
    batch: Batch | None = None
    method.train()
    with interrupts, session.bar(training.steps, "step", progress.step) as bar:
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
                progress.seconds = session.seconds()
                row = {"step": step, "seconds": round(progress.seconds, 4), **{k: float(v.detach()) for k, v in terms.items()}}
                _check(row, method)
                if step % max(1, training.steps // 5) == 0 or done:
                    row |= _health(method, batch, step, team, warn=done)
                bar.set_postfix(loss=f"{row['loss']:.4f}")
                if session.log(row) and not done:
                    done = True
                    _restore_best(method, progress, training)
            stopping = optimisation.stopping  # a team stops after the same step
            due = every > 0 and progress.step % every == 0
            if session.run is not None and not done and (stopping or due):
                _check_weights(method, progress.step)
                session.checkpoint(method, optimiser, progress)
            if done:
                break
            if stopping:
                if progress.best:
                    method.load_state_dict(progress.best)
                method.refresh_statistics(batch)
                raise Interrupted(f"stopped after step {progress.step} of {training.steps}", session.rows)
    session.write_log()
    method.refresh_statistics(batch or next(batches))
    _check_weights(method, progress.step)
    return session.rows


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
    """Raises TrainingFailed if the loss of a row is not finite, or if the method cannot be trusted."""
    if not math.isfinite(row["loss"]):
        raise TrainingFailed(f"the loss became {row['loss']} at step {row['step']}; {_REMEDY}")
    try:
        method.watch(row)
    except ValueError as error:
        raise TrainingFailed(str(error)) from error


def _check_weights(method: Method, steps: int) -> None:
    """Raises TrainingFailed if weights are not finite, before they are stored: the loss shows it only a step later."""
    if (name := broken_tensor(method)) is not None:
        raise TrainingFailed(f"after {steps} steps, {name} has NaN or infinite values; {_REMEDY}")


@torch.no_grad()
def _health(method: Method, batch: Batch, step: int, team: Team, *, warn: bool) -> dict[str, float]:
    """Spread and rank of the embeddings of this process's batch; with `warn`, warns if they have collapsed."""
    z = method.embed(batch)
    broken = int(team.sum(torch.tensor(float(non_finite_rows(z)))))  # all stop, or none
    if broken:
        raise TrainingFailed(f"the embeddings of {broken} nodes became NaN or infinite at step {step}; {_REMEDY}")
    health = {"spread": spread(z), "rank": effective_rank(z)}
    if warn and (health["spread"] < 0.05 or health["rank"] < 2):
        warnings.warn(
            f"the embeddings have collapsed (spread {health['spread']:.3f} of 1, effective rank {health['rank']:.1f}): nodes "
            "look alike; train fewer steps, lower the learning rate or the temperature, or scale the features",
            LocalGCLWarning,
            stacklevel=2,
        )
    return health


# Collapse: two numbers, computed without labels, that show whether all embeddings look alike


def spread(z: Float[Tensor, "n d"]) -> float:
    r"""$\sqrt{1 - \|\bar z\|^2}$ of the unit rows: 1 when directions cancel out, 0 when all nodes share one direction."""
    mean = torch.nn.functional.normalize(z.float()).mean(0)
    return float((1 - mean.square().sum()).clamp(min=0).sqrt())


def effective_rank(z: Float[Tensor, "n d"]) -> float:
    r"""$e^H$ with H the entropy of the normalised singular values of the unit rows: between 1 and min(n, d).

    Computed on at most 256 evenly spaced rows, which takes milliseconds; it cannot exceed 256.
    """
    rows = torch.linspace(0, len(z) - 1, min(len(z), _SAMPLE), device=z.device).long()
    sample = torch.nn.functional.normalize(z[rows].float())
    gram = sample @ sample.T if len(sample) < sample.shape[1] else sample.T @ sample
    # A problem this small is faster on the CPU.
    singular = torch.linalg.eigvalsh(gram.double().cpu()).clamp(min=0).sqrt()
    p = singular / singular.sum().clamp(min=torch.finfo(torch.float64).tiny)
    return float(torch.exp(-torch.xlogy(p, p).sum()))

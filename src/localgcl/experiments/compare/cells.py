"""A cell of a comparison: one method with one seed. It is trained without labels, embedded, and scored."""

import dataclasses
import functools
import hashlib
import json
import statistics
import warnings
from typing import Any

from localgcl.config import Config, LocalGCLWarning
from localgcl.experiments.compare.problem import Problem
from localgcl.experiments.sweep import decisive_settings
from localgcl.graph.prepare import column_statistics, prepare
from localgcl.system.devices import choose_device
from localgcl.system.peak import Cost, measured
from localgcl.system.provenance import now
from localgcl.training import fit

Row = dict[str, str]
FIELDS = (
    *("key", "method", "seed", "outcome", "score", "scores", "validation", "dim", "steps", "seconds", "peak_mib", "note"),
    *("graph", "fingerprint", "settings", "evaluator", "jobs", "date", "version", "commit", "hardware"),
)
"""outcome: "ok", or why it failed. scores: by split. key: see `Cell`."""
RAW = "raw-features"


@dataclasses.dataclass(frozen=True)
class Cell:
    """What to run.

    Args:
        config: Method and settings, the seed among them.
        key: A hash of everything but the seed: graph, method, settings, evaluator, and whether it runs on a GPU.
    """

    config: Config
    key: str

    @classmethod
    def of(cls, problem: Problem, config: Config) -> "Cell":
        device = choose_device(problem.device).type
        what = [problem.fingerprint, config.method, decisive_settings(config), problem.evaluator, device]
        return cls(config, hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:12])

    @property
    def seed(self) -> int:
        return self.config.training.seed

    @property
    def place(self) -> tuple[str, int]:
        """Where its result is found."""
        return self.key, self.seed


def run(problem: Problem, cell: Cell) -> Row:
    """Trains, embeds and scores. A method that cannot be trained on this graph gets a row that says why."""
    row: dict[str, Any] = dict.fromkeys(FIELDS, "") | _described(problem, cell)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LocalGCLWarning)
        try:
            row |= _result(problem, cell)
        except (ValueError, RuntimeError, MemoryError) as error:
            row["outcome"] = " ".join(str(error).split()) or type(error).__name__
    told = [str(warning.message) for warning in caught if issubclass(warning.category, LocalGCLWarning)]
    row["note"] = told[0] if told else ""
    return {name: str(value) for name, value in row.items()}


def _result(problem: Problem, cell: Cell) -> dict[str, Any]:
    config, graph, cost, steps = cell.config, problem.unlabelled, Cost(0.0, None), 0
    if config.method == RAW:  # never made dense
        z = prepare(graph, config.preparation, column_statistics(graph, config.preparation.scaling)).x
    else:
        config = config.replace(log_every=max(1, config.training.steps // 20))  # reading the loss makes the host wait
        train = functools.partial(fit, graph, config, force_memory=problem.force_memory)
        model, cost = measured(train, choose_device(problem.device))
        z, steps = model.embed(graph), model.step
    scores = problem.score(z, cell.seed)
    validation = [value for value in scores.validation if value is not None]
    return {
        "outcome": "ok",
        "score": round(scores.mean, 4),
        "scores": json.dumps([round(value, 4) for value in scores.values]),
        "validation": round(statistics.fmean(validation), 4) if validation else "",
        "dim": z.shape[1],
        "steps": steps,
        "seconds": round(cost.seconds, 3),
        "peak_mib": "" if cost.peak is None else round(cost.peak / 2**20, 1),
    }


def _described(problem: Problem, cell: Cell) -> dict[str, Any]:
    """The columns that say what was run, where and when."""
    return {
        **problem.made,
        "key": cell.key,
        "method": cell.config.method,
        "seed": cell.seed,
        "graph": problem.graph.name,
        "fingerprint": problem.fingerprint,
        "settings": json.dumps(decisive_settings(cell.config), sort_keys=True),
        "evaluator": problem.evaluator,
        "jobs": problem.jobs,
        "date": now(),
    }


# A worker process receives the problem once, then one cell at a time.

_kept: list[Problem] = []


def keep_problem(problem: Problem) -> None:
    """Keeps the problem that all cells of this process share."""
    _kept[:] = [problem]


def run_kept(cell: Cell) -> Row:
    """`run` on the kept problem."""
    return run(_kept[0], cell)

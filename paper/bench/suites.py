"""Named sets of sizes: one command measures all of them on a machine."""

import dataclasses
from collections.abc import Iterable, Sequence

from paper.bench.setups import BENCHMARKS, FORMS, Size


@dataclasses.dataclass(frozen=True)
class Job:
    """A size and the providers to measure at it; empty means all."""

    size: Size
    providers: tuple[str, ...] = ()


ARXIV, PUBMED = 169_343, 19_717  # nodes
_AGAINST = ("ours", "dense-rff", "dense-exact", "checkpointed-exact")


def jobs(suite: str, benchmark: str, device: str) -> list[Job]:
    """The jobs of a suite for one benchmark; empty where the suite has none for this kind of device."""
    kind = "cpu" if device == "cpu" else "cuda"
    found = SUITES[suite].get((benchmark, kind), SUITES[suite].get((benchmark, "any"), []))
    return [dataclasses.replace(job, size=dataclasses.replace(job.size, device=device)) for job in found]


def sizes(
    benchmark: str, nodes: Sequence[int], dims: Sequence[int], features: Sequence[int], graph: str, device: str
) -> list[Job]:
    """Every combination of the given sizes, for every variant of the benchmark."""
    variants = BENCHMARKS[benchmark].variants
    return [
        Job(Size(n, d, num_features, device, graph, variant))
        for n in nodes
        for d in dims
        for num_features in features
        for variant in variants
    ]


def _jobs(sizes: Iterable[tuple[int, int, int]], providers: tuple[str, ...]) -> list[Job]:
    return [Job(Size(n, d, num_features), providers) for n, d, num_features in sizes]


def _on(graph: str, dim: int, num_features: int = 4096, variants: Sequence[str] = ("",)) -> list[Job]:
    return [Job(Size(dim=dim, num_features=num_features, graph=graph, variant=variant)) for variant in variants]


_STANDARD = [
    *_jobs([(n, 256, 1024) for n in (500, 1000, 2000, 4000, 8000)], (*FORMS, "dense-rff", "dense-exact")),
    *_jobs([(1000, d, 1024) for d in (64, 128, 512, 1024)], (*FORMS, "dense-rff")),
    *_jobs([(1000, 256, features) for features in (256, 512, 2048, 4096)], (*FORMS, "dense-rff")),
]

_GPU_NEGATIVES = [
    *_jobs([(ARXIV, 512, 8192), (ARXIV, 1024, 8192), (PUBMED, 1024, 8192)], (*_AGAINST, "kronecker-sorf", *FORMS)),
    *_jobs([(1_000_000, 256, 4096)], ("ours", "dense-rff")),
    *_jobs([(4_000_000, 128, 2048)], ("ours",)),
    *_jobs([(2**power, 256, 4096) for power in range(14, 23)], ("ours",)),
    *_jobs([(ARXIV, 512, 2**power) for power in range(10, 15)], ("ours",)),
]

SUITES: dict[str, dict[tuple[str, str], list[Job]]] = {
    "standard": {
        ("hadamard", "any"): _jobs([(n, 512, 512) for n in (1000, 4000, 16000)], ()),
        ("feature-map", "any"): _jobs([(n, 512, 1024) for n in (500, 1000, 2000)], ()),
        ("negative-term", "any"): _STANDARD,
        ("positive-term", "any"): [
            Job(Size(n, 256, variant=variant)) for n in (1000, 4000, 16000) for variant in ("mean", "max", "weighted")
        ],
        ("encoder", "any"): _jobs([(n, 128, 1024) for n in (1000, 4000, 16000)], ()),
        ("train-step", "any"): _jobs([(2000, 128, 1024)], ()),
    },
    "acceptance": {
        ("negative-term", "cuda"): [*_GPU_NEGATIVES, *_STANDARD],
        ("positive-term", "cuda"): _on("arxiv-structure", 512, variants=("mean", "max", "weighted")),
        ("encoder", "cuda"): [*_on("arxiv-structure", 256), *_on("physics", 256)],
        ("train-step", "cuda"): _on("arxiv-structure", 256),
        ("recipe", "cuda"): _on("cora", 2048),
        ("negative-term", "cpu"): _jobs([(PUBMED, 1024, 8192), (PUBMED, 2048, 8192)], ("ours", "dense-rff")),
        ("recipe", "cpu"): _on("physics", 1024),
    },
}
"""By name, then by benchmark and kind of device."""

"""table-memory: which methods run out of memory under a cap of 16 GiB, as the paper's "OOM" cells say.

A method's memory is measured over a few training steps in the form that `localgcl train` uses. Where the released code of a
method holds N x N matrices and ours does not, the same steps are also tried with them: MVGRL and GMI in their faithful mode,
GRACE and GCA with the loss written out over all pairs, AFGRL with the matrix of similarities that its search sorts.
"""

import gc
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from localgcl.datasets import load
from localgcl.experiments.tables import Table
from localgcl.graph import Graph
from localgcl.methods import METHODS as REGISTRY
from localgcl.methods.settings import choose_settings
from localgcl.system.memory import OutOfMemory
from localgcl.training import fit
from paper.printed import printed
from paper.store import StudyRow

METHODS = tuple(name for name, kind in REGISTRY.items() if kind.learns)
GRAPHS = ("cora", "citeseer", "pubmed", "computers", "photo", "cs", "physics", "arxiv-structure")
STEPS = 3


def measure(
    methods: Sequence[str] = METHODS,
    graphs: Sequence[str] = GRAPHS,
    *,
    known: Sequence[StudyRow] = (),
    cap_gib: float = 16.0,
    device: str = "cuda",
) -> Iterator[StudyRow]:
    """Yields a row for each method, graph and form that is not `known`: the peak in MiB, and whether the cap was hit."""
    if torch.device(device).type != "cuda":
        raise ValueError(f"device is {device!r}; memory is counted and capped by the allocator of a GPU, so give cuda")
    index = torch.device(device).index or 0  # a cap needs the GPU's number
    total = torch.cuda.get_device_properties(index).total_memory
    torch.cuda.set_per_process_memory_fraction(min(1.0, cap_gib * 2**30 / total), index)
    try:
        tried = {(row["graph"], row["method"], row["form"], row["cap_gib"]) for row in known}
        for name in graphs:
            todo = [each for each in _forms(methods) if (name, *each, cap_gib) not in tried]
            if not todo:
                continue
            graph = load(name)
            for method, form in todo:
                yield _row(method, graph, name, form, cap_gib, device)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0, index)


def _forms(methods: Sequence[str]) -> Iterator[tuple[str, str]]:
    for method in methods:
        yield method, "ours"
        if method in ("mvgrl", "gmi", "grace", "gca", "afgrl"):  # whose released code holds N x N matrices
            yield method, "as released"


def _row(method: str, graph: Graph, name: str, form: str, cap_gib: float, device: str) -> StudyRow:
    gc.collect()  # recorded steps of the row before are in reference cycles, and their memory would be counted here
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    row: StudyRow = {"method": method, "graph": name, "form": form, "cap_gib": cap_gib, "out_of_memory": False}
    few = {"steps": STEPS, "warmup": 0, "patience": 0, "device": device}
    config = choose_settings(method, graph, dataset=name, given=few).config
    own = config.flat()
    if "mode" in own:
        config = config.replace(mode="faithful" if form == "as released" else "scalable")
    if own.get("negatives") == "sampled":
        config = config.replace(negatives="exact")  # the claim is about all pairs
    try:
        if form == "as released" and method in ("grace", "gca"):
            _all_pairs(graph.num_nodes, config.encoder.dim, config.options.temperature, device)
        elif form == "as released" and method == "afgrl":
            _similarities(graph.num_nodes, config.encoder.dim, config.options.neighbours, device)
        else:
            fit(graph, config, force_memory=True)
    except (OutOfMemory, torch.OutOfMemoryError):
        row["out_of_memory"] = True
    return {**row, "peak_mib": round(torch.cuda.max_memory_allocated(device) / 2**20)}


def _all_pairs(nodes: int, dim: int, tau: float, device: str) -> None:
    """GRACE's loss as it is written, forward and backward, on drawn embeddings: a lower bound, without the encoder."""
    u, v = (torch.nn.functional.normalize(torch.randn(nodes, dim, device=device)).requires_grad_() for _ in range(2))
    loss = torch.stack([_one_direction(a, b, tau) for a, b in ((u, v), (v, u))]).mean()
    loss.backward()


def _one_direction(u: Tensor, v: Tensor, tau: float) -> Tensor:
    between, within = (u @ v.T / tau).exp(), (u @ u.T / tau).exp()
    return -(between.diagonal() / (between.sum(1) + within.sum(1) - within.diagonal())).log().mean()


@torch.no_grad()
def _similarities(nodes: int, dim: int, neighbours: int, device: str) -> None:
    """The matrix that AFGRL's search for nearest nodes sorts, its diagonal raised: a lower bound, without the encoder."""
    online, target = (torch.nn.functional.normalize(torch.randn(nodes, dim, device=device)) for _ in range(2))
    (online @ target.T + 10 * torch.eye(nodes, device=device)).topk(neighbours, dim=1)


def table(rows: Sequence[StudyRow]) -> Table:
    """A line for each method and form, a column for each graph; what the paper prints as OOM is marked."""
    present = dict.fromkeys(row["graph"] for row in rows)
    graphs = sorted(present, key=[*GRAPHS, *present].index)
    lines = []
    for key in dict.fromkeys((row["method"], row["form"]) for row in rows):
        cells = []
        for graph in graphs:
            found = [row for row in rows if (row["method"], row["form"], row["graph"]) == (*key, graph)]
            cells.append(_cell(found[0], key[0], graph) if found else "")
        lines.append([*key, *cells])
    cap = rows[0]["cap_gib"] if rows else 16
    caption = (
        f"Peak memory of {STEPS} training steps in GiB under a cap of {cap:g} GiB, the memory of the paper's GPU. **out** "
        "means that the cap was hit, [OOM] that the paper prints so."
    )
    notes = [
        "as released: with the N x N matrices of the released code. For GRACE, GCA and AFGRL these alone, without the "
        "encoder: a lower bound.",
        "Settings are those of the recipes at the commit that is named, else defaults.",
    ]
    return Table("table-memory", "Out of memory at 16 GiB?", caption, ["method", "form", *graphs], lines, notes)


def _cell(row: StudyRow, method: str, graph: str) -> str:
    text = "**out**" if row["out_of_memory"] else f"{row['peak_mib'] / 1024:.2f}"
    return f"{text} [OOM]" if printed_out(method, graph) else text


def printed_out(method: str, graph: str) -> bool:
    """Whether the paper prints that the method runs out of memory on the graph."""
    known = graph.removesuffix("-structure")
    said = printed("tbl-exp-arxiv" if known == "arxiv" else "tbl-exp-main", method, known)
    return said is not None and said.text == "OOM"

"""Writes docs/speed.md with its figures and the README's table of speed, from benchmarks/results/bench.csv and nothing else.

python -m benchmarks.bench_page
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks import BENCH, ROOT, files
from benchmarks.bench_plot import AXES, QUANTITIES, RULE, picture_name, plot, series
from localgcl.experiments.tables import pipes
from paper.bench.setups import BENCHMARKS
from paper.bench.table import BenchRow, hardware, newest, read

START, END = "<!-- speed: python -m benchmarks.bench_page -->", "<!-- end of speed -->"
_HEAD = """# Speed and memory

Local-GCL never makes a tensor of N x N or N x D numbers. This page compares the library with the same computation in plain
PyTorch, first on graphs of real size, then part by part and size by size. To measure your own machine:

```text
python -m paper bench all --suite standard --memory      small sizes
python -m paper bench all --suite acceptance             the sizes of real graphs
```

## Summary"""
_SUMMARY = """Median time and peak memory of N nodes, d dimensions and D frequencies. Ours and plain PyTorch were measured in
turn in one process."""
_READING = f"""## How to read the tables

- *ours* is this library, with SORF where random features are used; *ours-...* are its other forms; all others are plain
  PyTorch with autograd.
- Times are medians, with the 20th and 80th percentile in brackets. *to ours* is the time divided by that of *ours*. All rows
  of one size were measured in turn in one process; matrix products on a GPU run in TF32.
- Peak memory is what is needed above the inputs: on a GPU as torch's allocator counts it, on the CPU the growth of a fresh
  process.
- {RULE}"""
_SOURCE = """## Where the numbers come from

`python -m paper bench` adds rows to `benchmarks/results/bench.csv`, and `python -m benchmarks.bench_page` writes this page from
it."""

_PAIRS = (
    ("negative-term", "ours", "dense-rff", "all-pairs term by random features; plain: dense features"),
    ("negative-term", "ours-exact", "checkpointed-exact", "all-pairs term, exact; plain: row chunks, checkpointed"),
    ("positive-term", "ours", "gather", "neighbour term; plain: gathered rows"),
    ("train-step", "ours", "plain", "training step; plain: torch.sparse, gathered rows, dense features"),
)
"""What the summary compares: a benchmark, our provider and the plain one, and what they compute."""
_REAL = 19_000  # nodes
_README = (
    ("negative-term", "169343", "512", False, "all-pairs loss"),
    ("negative-term", "19717", "1024", True, "all-pairs loss"),
    ("train-step", "169343", "256", False, "training step"),
)
"""What the README shows: a benchmark, N, d, whether it runs on the CPU, and what it is called there."""


def page(rows: Sequence[BenchRow], pictures: str = "_static/bench") -> str:
    """The page in Markdown; `pictures` is the folder of the figures, relative to the page."""
    rows = newest(rows)
    parts, sources = [_HEAD, _summary(rows), _SUMMARY, _READING], []
    for benchmark, about in BENCHMARKS.items():
        mine = [row for row in rows if row["benchmark"] == benchmark]
        if mine:
            parts.append(f"## {benchmark}\n\n{about.text[0].upper()}{about.text[1:]}.")
        for machine in dict.fromkeys(map(hardware, mine)):
            here = [row for row in mine if hardware(row) == machine]
            parts.append(f"### {benchmark}: {machine}")
            if any(series(here, axis, quantity) for axis in AXES for quantity in QUANTITIES):
                parts.append(f"![{benchmark} on {machine}]({pictures}/{picture_name(benchmark, machine)}.svg)")
            parts.append(_table(here))
            sources.append(f"- {benchmark}: {machine}; {_made(here)}")
    return "\n\n".join([*parts, _SOURCE, "\n".join(sources)]) + "\n"


def write_page(rows: Sequence[BenchRow], path: Path, readme: Path) -> list[Path]:
    """Writes the page, its figures in `_static/bench` beside it, and the short table between the marks of `readme`."""
    return [
        files.write_between(readme, START, END, short_table(rows)),
        files.write(path, page(rows)),
        *plot(rows, path.parent / "_static" / "bench").values(),
    ]


def short_table(rows: Sequence[BenchRow]) -> str:
    """The README's table: three rows, or fewer where some were not measured."""
    lines = []
    for benchmark, nodes, dim, on_cpu, name in _README:
        for ours, plain, _ in _compared(rows):
            place = ours["benchmark"], ours["provider"], ours["N"], ours["d"], ours["device"] == "cpu"
            if place == (benchmark, "ours", nodes, dim, on_cpu):
                machine = hardware(ours).replace(ours["processor"], "CPU").removeprefix("NVIDIA ")
                what = f"{name}, {int(nodes):,} nodes, {machine}"
                lines.append([what, _spent(ours), _spent(plain), f"{_ratio(ours, plain)}x"])
    return pipes(["", "localgcl", "plain PyTorch", "faster"], lines)


def _summary(rows: Sequence[BenchRow]) -> str:
    """Ours beside plain PyTorch on graphs of real size."""
    lines = []
    for ours, plain, text in _compared(rows):
        case = f" ({ours['case']})" if ours["case"] else ""
        lines.append([text + case, *_sizes(ours), _spent(ours), _spent(plain), _ratio(ours, plain), hardware(ours)])
    return pipes(["what", *AXES, "ours", "plain PyTorch", "times faster", "machine"], lines)


def _compared(rows: Sequence[BenchRow]) -> list[tuple[BenchRow, BenchRow, str]]:
    """Pairs of our measurement and the plain one at the same size on the same machine, and what they compute."""
    rows, pairs = newest(rows), []
    for benchmark, mine, other, text in _PAIRS:
        for ours in rows:
            if (ours["benchmark"], ours["provider"]) != (benchmark, mine) or int(ours["N"]) < _REAL:
                continue
            if ours["case"].endswith(("max", "weighted")):  # much like the mean
                continue
            plain = next((row for row in rows if row["provider"] == other and _place(row) == _place(ours)), None)
            if plain is not None and plain["p50_ms"]:
                pairs.append((ours, plain, text))
    return pairs


def _place(row: BenchRow) -> tuple[str, ...]:
    return row["benchmark"], hardware(row), *_inputs(row)


def _inputs(row: BenchRow) -> tuple[str, ...]:
    return row["case"], *(row[axis] for axis in AXES)


def _sizes(row: BenchRow) -> list[str]:
    return [f"{int(row[axis]):,}" if row[axis] else "" for axis in AXES]


def _ratio(ours: BenchRow, plain: BenchRow) -> str:
    return f"{float(plain['p50_ms']) / float(ours['p50_ms']):.1f}"


def _spent(row: BenchRow) -> str:
    memory = f", {float(row['peak_mib']) / 1024:.1f} GiB" if row["peak_mib"] else ""
    return f"{_number(row['p50_ms'])} ms{memory}"


def _table(rows: Sequence[BenchRow]) -> str:
    ours = {_inputs(row): float(row["p50_ms"]) for row in rows if row["provider"] == "ours" and row["p50_ms"]}
    lines = []
    for row in sorted(rows, key=lambda row: (row["case"], *(int(row[axis] or 0) for axis in AXES))):
        time, ratio = row["note"], ""
        if row["p50_ms"]:
            time = f"{_number(row['p50_ms'])} ({_number(row['p20_ms'])}-{_number(row['p80_ms'])})"
            ratio = f"{float(row['p50_ms']) / ours[_inputs(row)]:.2f}" if _inputs(row) in ours else ""
        peak = _number(row["peak_mib"]) if row["peak_mib"] else ""
        lines.append([row["case"], *_sizes(row), row["provider"], time, ratio, peak, row["repeats"]])
    return pipes(["case", *AXES, "provider", "time in ms", "to ours", "peak MiB", "repeats"], lines)


def _number(text: str) -> str:
    """Three digits: such measurements repeat to no more."""
    value = float(text)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _made(rows: Sequence[BenchRow]) -> str:
    dates = sorted({row["date"][:10] for row in rows})
    made = [" to ".join(dict.fromkeys((dates[0], dates[-1])))]
    for name in ("commit", "torch", "triton", "numba", "python"):
        values = sorted({row[name][:7] if name == "commit" else row[name] for row in rows} - {""})
        made += [f"{name} {', '.join(values)}"] if values else []
    made += [f"load average at most {max(float(row['load']) for row in rows):g}", rows[0]["dtype"]]
    return "; ".join(made if rows[0]["device"] == "cpu" else [*made, f"processor {rows[0]['processor']}"]) + "."


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_page", description=__doc__)
    parser.add_argument("--table", type=Path, default=BENCH, metavar="CSV", help="what python -m paper bench has measured")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "speed.md", metavar="FILE", help="the page to write")
    parser.add_argument("--readme", type=Path, default=ROOT / "README.md", metavar="FILE", help="whose table to replace")
    options = parser.parse_args(arguments)
    for path in write_page(read(options.table), options.page, options.readme):
        print(f"written: {path}")


if __name__ == "__main__":
    main()

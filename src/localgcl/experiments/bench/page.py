"""The documentation page "Speed and memory", made from the table and nothing else."""

from collections.abc import Sequence
from pathlib import Path

from localgcl.experiments.bench.plot import AXES, QUANTITIES, RULE, picture_name, plot, series
from localgcl.experiments.bench.setups import BENCHMARKS
from localgcl.experiments.bench.table import Row, hardware, newest
from localgcl.system.files import replacing

_HEAD = """# Speed and memory

Every figure on this page comes from `benchmarks/results/bench.csv`, to which `localgcl bench` appends; the page itself is
written by `localgcl bench page`. To measure a machine of your own:

```text
localgcl bench all --suite standard --memory      small sizes
localgcl bench all --suite acceptance             the sizes of real graphs
```

Times are medians, with the 20th and 80th percentile in brackets; all providers of a table were measured in turn in one
process. Peak memory is what a provider needs above its inputs: on a GPU what torch's allocator handed out, on the CPU what a
fresh process grows by. "ours" is this library, by SORF where random features are meant; names that begin with "ours-" are
its other forms, the rest is plain PyTorch with autograd. GPU products of all providers run in TF32."""

# What the README shows: ours beside the plain expression of the same, on graphs of real size.
_SHORT = (
    (
        "negative-term",
        "ours",
        "dense-rff",
        "all-pairs term by random features, forward and backward; plain: dense features, autograd",
    ),
    ("negative-term", "ours-exact", "checkpointed-exact", "the same, exactly; plain: row chunks, checkpointed"),
    ("positive-term", "ours", "gather", "neighbour term, forward and backward; plain: gathered rows"),
    ("train-step", "ours", "plain", "one training step; plain: torch.sparse, gathered rows, dense features"),
)
_REAL = 19_000  # nodes
START, END = "<!-- speed: localgcl bench page -->", "<!-- end of speed -->"


def page(rows: Sequence[Row], pictures: str = "_static/bench") -> str:
    """The page in Markdown; `pictures` is their folder, relative to it."""
    rows, parts = newest(rows), [_HEAD, RULE]
    for benchmark, about in BENCHMARKS.items():
        mine = [row for row in rows if row["benchmark"] == benchmark]
        if mine:
            parts.append(f"## {benchmark}\n\nMeasured: {about.text}.")
        for machine in dict.fromkeys(map(hardware, mine)):
            here = [row for row in mine if hardware(row) == machine]
            parts.append(f"### {benchmark}: {machine}")
            if any(series(here, axis, quantity) for axis in AXES for quantity in QUANTITIES):
                parts.append(f"![{benchmark} on {machine}]({pictures}/{picture_name(benchmark, machine)}.svg)")
            parts += ["\n".join(_table(here)), _made(here)]
    return "\n\n".join(parts) + "\n"


def write(rows: Sequence[Row], path: Path, readme: Path | None = None) -> list[Path]:
    """Writes the page and its pictures, in `_static/bench` beside it, and the short table between the marks of `readme`."""
    pictures = list(plot(rows, path.parent / "_static" / "bench").values())
    with replacing(path) as temporary:
        temporary.write_text(page(rows))
    if readme is not None:
        before, rest = readme.read_text().split(START)
        text = f"{before}{START}\n{short(rows)}\n{END}{rest.split(END)[1]}"
        with replacing(readme) as temporary:
            temporary.write_text(text)
    return [path, *([] if readme is None else [readme]), *pictures]


def short(rows: Sequence[Row]) -> str:
    """A table of few lines: ours beside plain PyTorch on graphs of real size, by machine."""
    rows = newest(rows)
    lines = ["| what | N | d | D | ours | plain PyTorch | times faster | machine |", "|---" * 8 + "|"]
    for benchmark, mine, plain, text in _SHORT:
        ours = [row for row in rows if (row["benchmark"], row["provider"]) == (benchmark, mine) and int(row["N"]) >= _REAL]
        ours = [row for row in ours if not row["case"].endswith(("max", "weighted"))]  # much like the mean
        for row in ours:
            other = next((o for o in rows if o["provider"] == plain and _place(o) == _place(row) and o["p50_ms"]), None)
            if other is not None:
                sizes = [f"{int(row[axis]):,}" if row[axis] else "" for axis in AXES]
                ratio = f"{float(other['p50_ms']) / float(row['p50_ms']):.1f}"
                case = f" ({row['case']})" if row["case"] else ""
                cells = [text + case, *sizes, _spent(row), _spent(other), ratio, hardware(row)]
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _place(row: Row) -> tuple[str, ...]:
    return row["benchmark"], hardware(row), *_cell(row)


def _spent(row: Row) -> str:
    return f"{_number(row['p50_ms'])} ms" + (f", {_number(row['peak_mib'])} MiB" if row["peak_mib"] else "")


def _table(rows: Sequence[Row]) -> list[str]:
    lines = ["| case | N | d | D | provider | time in ms | to ours | peak MiB | repeats |", "|---" * 9 + "|"]
    ours = {_cell(row): float(row["p50_ms"]) for row in rows if row["provider"] == "ours" and row["p50_ms"]}
    for row in sorted(rows, key=lambda row: (row["case"], *(int(row[axis] or 0) for axis in AXES))):
        sizes = " | ".join([row["case"], *(f"{int(row[axis]):,}" if row[axis] else "" for axis in AXES)])
        time, ratio = row["note"], ""
        if row["p50_ms"]:
            time = f"{_number(row['p50_ms'])} ({_number(row['p20_ms'])}-{_number(row['p80_ms'])})"
            ratio = f"{float(row['p50_ms']) / ours[_cell(row)]:.2f}" if _cell(row) in ours else ""
        peak = _number(row["peak_mib"]) if row["peak_mib"] else ""
        lines.append(f"| {sizes} | {row['provider']} | {time} | {ratio} | {peak} | {row['repeats']} |")
    return lines


def _cell(row: Row) -> tuple[str, ...]:
    return row["case"], *(row[axis] for axis in AXES)


def _number(text: str) -> str:
    """Three digits are more than such measurements repeat to."""
    value = float(text)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _made(rows: Sequence[Row]) -> str:
    dates = sorted({row["date"][:10] for row in rows})
    made = [f"Measured {' to '.join(dict.fromkeys((dates[0], dates[-1])))}"]
    for name, title in (
        ("commit", "commit"),
        ("torch", "torch"),
        ("triton", "triton"),
        ("numba", "numba"),
        ("python", "Python"),
    ):
        values = sorted({row[name][:12] if name == "commit" else row[name] for row in rows} - {""})
        made += [f"{title} {', '.join(values)}"] if values else []
    made.append(f"load average at most {max(float(row['load']) for row in rows):g}")
    return "; ".join([*made, f"{rows[0]['dtype']}; processor {rows[0]['processor']}"]) + "."

# ruff: noqa: T201 - a command prints
"""Fuzzes the readers: python -m tests.fuzz.run --inputs 100000

Inputs are numbered for each reader, and an input is known by its number: a run that finds something prints the numbers, and
`--first N` continues after an earlier run. `--keep` makes the first input of each kind of finding small and stores it in
tests/fuzz/cases, which the tests replay.
"""

import argparse
import os
from collections import Counter
from pathlib import Path

os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # the others reserve gigabytes of addresses in advance

import pyarrow as pa
import torch

from tests.fuzz.inputs import made
from tests.fuzz.minimise import minimised
from tests.fuzz.targets import TARGETS
from tests.fuzz.workers import Found, run

CASES = Path(__file__).parent / "cases"
CHUNK = 1000  # inputs of one worker process


def main() -> int:
    """Runs the inputs and prints a table; the exit status is 1 if there are findings."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.run", description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=10_000, help="inputs of all readers together")
    parser.add_argument("--first", type=int, default=0, help="number of each reader's first input")
    parser.add_argument("--readers", nargs="+", choices=TARGETS, default=list(TARGETS), metavar="NAME")
    parser.add_argument("--memory", type=int, default=512, help="MiB that reading one input may take")
    parser.add_argument("--keep", action="store_true", help="store a small input of each kind of finding")
    options = parser.parse_args()
    pa.set_cpu_count(1)  # a thread of a forked worker would not be there
    pa.set_io_thread_count(1)
    torch.set_num_threads(1)
    each = -(-options.inputs // len(options.readers))
    limits = {reader: (options.memory + TARGETS[reader].once) << 20 for reader in options.readers}
    kinds: dict[tuple[str, str], list[Found]] = {}
    total: Counter[str] = Counter()
    print(f"{'reader':20} {'inputs':>8} {'read':>8} {'refused':>8} {'findings':>8}")
    for reader in options.readers:
        starts = range(options.first, options.first + each, CHUNK)
        chunks = [range(start, min(start + CHUNK, options.first + each)) for start in starts]
        tallies = [run(reader, chunk, limits[reader]) for chunk in chunks]
        found = [one for tally in tallies for one in tally.found]
        counts = {"inputs": sum(t.inputs for t in tallies), "read": sum(t.read for t in tallies), "findings": len(found)}
        counts["refused"] = counts["inputs"] - counts["read"] - counts["findings"]
        total.update(counts)
        print(_row(reader, counts), flush=True)
        for one in found:
            kinds.setdefault((reader, one.finding.kind), []).append(one)
    print(_row("all", total))
    for (reader, kind), found in kinds.items():
        print(f"{reader}: {kind} ({len(found)} inputs, first {found[0].number}): {found[0].finding.detail}")
        if options.keep:
            _keep(reader, found[0], limits[reader])
    print(f"{len(kinds)} kinds of findings; continue with --first {options.first + each}")
    return 1 if kinds else 0


def _row(name: str, counts: dict[str, int] | Counter[str]) -> str:
    return f"{name:20} {counts['inputs']:8,} {counts['read']:8,} {counts['refused']:8,} {counts['findings']:8,}"


def _keep(reader: str, found: Found, memory: int) -> None:
    small = minimised(reader, made(reader, found.number), found.finding.kind, memory)
    folder = CASES / reader / str(found.number)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in small.items():
        (folder / name).write_bytes(content)
    print(f"  kept in {folder}")


if __name__ == "__main__":
    raise SystemExit(main())

"""Time of the negative term, forward and backward: random feature maps beside the exact sum, in one run.

    python benchmarks/negative_term.py --device cpu

Each expression is run once to warm up and then `--repeats` times, in turn; the median counts. Read the ratios.
"""

import argparse
import statistics
import time
from typing import Any

import torch

from localgcl.losses import negative_term, unit_rows

NEGATIVES: tuple[Any, ...] = ("exact", "sorf", "orf", "rff")


def seconds(z: torch.Tensor, negatives: Any, num_features: int) -> float:
    leaf = z.clone().requires_grad_()
    _wait(z)
    started = time.perf_counter()
    unit, alive = unit_rows(leaf)
    negative_term(unit, alive, 0.5, negatives, num_features=num_features).total.backward()  # type: ignore[no-untyped-call]
    _wait(z)
    return time.perf_counter() - started


def _wait(z: torch.Tensor) -> None:
    if z.is_cuda:
        torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--num-features", type=int, default=4096)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1000, 4000, 16000])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print(f"d = {options.dim}, D = {options.num_features}, {options.device}, {torch.get_num_threads()} threads")
    print(f"{'nodes':>8} " + " ".join(f"{name:>18}" for name in NEGATIVES))
    for n in options.nodes:
        z = torch.randn(n, options.dim, device=options.device, generator=torch.Generator(options.device).manual_seed(0))
        times: dict[str, list[float]] = {name: [] for name in NEGATIVES}
        for repeat in range(options.repeats + 1):
            for name in NEGATIVES:
                value = seconds(z, name, options.num_features)
                if repeat:
                    times[name].append(value)
        median = {name: statistics.median(values) for name, values in times.items()}
        cells = (f"{1000 * value:9.1f} ms ({value / median['exact']:5.2f})" for value in median.values())
        print(f"{n:>8} " + " ".join(f"{cell:>18}" for cell in cells))


if __name__ == "__main__":
    main()

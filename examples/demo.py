"""The main job on data that needs no download: embeddings of handwritten digits, without labels, and what they are worth.

    make demo

Trains Local-GCL on the nearest-neighbour graph of scikit-learn's digits, then fits a linear classifier with three labels a
class on the embeddings, on those of the untrained encoder, and on the raw pixels: 20 splits each, the same for all three.
"""

from pathlib import Path

import localgcl as lg
from localgcl.datasets import few_label_splits
from localgcl.experiments.compare import untrained
from localgcl.methods import configure
from localgcl.recipes import settings_for
from localgcl.training import fit


def free_folder() -> Path:
    """runs/digits, or the next free name: an earlier run is not overwritten."""
    candidates = [Path("runs/digits"), *(Path(f"runs/digits-{number}") for number in range(2, 1000))]
    return next(path for path in candidates if not path.exists())


def main() -> None:
    graph = lg.load("digits")
    chosen = settings_for("local-gcl", graph)
    config = configure("local-gcl", chosen.values)
    folder = free_folder()
    print(graph)
    print("This graph is built from the features themselves (7 nearest images), so it shows the tool, not what edges add.")
    print(chosen.explain())
    model = fit(graph, config, folder=folder, source={"dataset": "digits"}, progress_bar=True)
    print(f"trained {model.step} steps in {model.history[-1]['seconds']:.0f} s; run folder: {folder}")

    splits = few_label_splits(graph, per_class=3, num=20)
    rows = {
        "Local-GCL": model.embed(graph),
        "random-init": fit(graph, untrained(config)).embed(graph),
        "raw-features": graph.x,
    }
    print("Linear probe, 3 labels a class, accuracy in % over 20 splits:")
    for name, z in rows.items():
        scores = lg.evaluate(z, graph, splits)
        print(f"  {name:13} {scores.mean:5.1f} ± {scores.std:.1f}")
    print(f"Next: localgcl embed {folder} -o digits.parquet")


if __name__ == "__main__":
    main()

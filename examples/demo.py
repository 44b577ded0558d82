"""The main job on data that needs no download: embeddings of handwritten digits, without labels, and what they are worth.

    make demo

Trains Local-GCL on the nearest-neighbour graph of scikit-learn's digits, then fits a linear classifier with three labels a
class on the embeddings, on those of the untrained encoder, and on the raw pixels: 20 splits each, the same for all three.
At the end it writes a page to look at.
"""

from pathlib import Path

import localgcl as lg


def free_folder() -> Path:
    """runs/digits, or the next free name: an earlier run is not overwritten."""
    candidates = [Path("runs/digits"), *(Path(f"runs/digits-{number}") for number in range(2, 1000))]
    return next(path for path in candidates if not path.exists())


def main() -> None:
    graph, folder = lg.load("digits"), free_folder()
    print("The digits graph links each image with its 7 nearest ones, so it shows the tool, not what edges add to features.")
    model = lg.train("digits", folder, say=print, progress_bar=True)
    rows = {
        "Local-GCL": model.transform(graph),
        "random-init": lg.Embedder("random-init").fit_transform(graph),
        "raw-features": graph.x,
    }
    splits = lg.few_label_splits(graph, per_class=3, num=20)
    print("Linear probe, 3 labels a class, accuracy in % over 20 splits:")
    for name, z in rows.items():
        scores = lg.evaluate(z, graph, splits)
        print(f"  {name:13} {scores.mean:5.1f} ± {scores.std:.1f}")
    print("Writing a report...")
    lg.write_report(folder)
    print(f"Embeddings as a table: localgcl embed {folder} -o digits.parquet")
    print(f"Open in a browser: {(folder / 'report.html').resolve()}")


if __name__ == "__main__":
    main()

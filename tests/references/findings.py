"""Findings of an invented run, of any size: clusters in the plane, edges between close nodes, columns of every kind."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from scipy.spatial import cKDTree

from localgcl.report import panels
from localgcl.report.findings import Cluster, Column, Findings, Map, Score, Section, Series

CLASSES = (
    "Theory",
    "Neural networks",
    "Genetic algorithms",
    "Probabilistic methods",
    "Case based",
    "Rule learning",
    "Reinforcement",
)


def synthetic_map(
    n: int, *, ids: Sequence[str] | None = None, classes: Sequence[str] = CLASSES, k: int = 10, seed: int = 0
) -> Map:
    """`n` nodes in as many blobs as there are classes, plus thin bridges; a tenth without a label."""
    generator = np.random.default_rng(seed)
    k = min(k, n - 1)
    centres = generator.normal(size=(len(classes), 2)) * 6
    label = generator.integers(len(classes), size=n)
    spread = generator.gamma(2.0, 0.45, size=(len(classes), 1))[label]
    xy = (centres[label] + generator.normal(size=(n, 2)) * spread).astype(np.float32)
    distance, near = cKDTree(xy).query(xy, k=k + 1)
    near, distance = np.asarray(near)[:, 1:], np.asarray(distance)[:, 1:]
    source, target = np.repeat(np.arange(n), min(3, k)), near[:, : min(3, k)].reshape(-1)
    moved = generator.random(len(target)) < 0.25  # some edges lead far away, as those of real graphs do
    target = np.where(moved, generator.integers(n, size=len(target)), target)
    pairs = np.unique(np.concatenate([source * n + target, target * n + source]))
    row, indices = np.divmod(pairs, n)
    row, indices = row[row != indices], indices[row != indices]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n))])
    income = np.where(generator.random(n) < 0.05, np.nan, np.exp(generator.normal(10 + 0.2 * label, 0.5)))
    columns = (
        Column("label", np.where(generator.random(n) < 0.1, -1, label).astype(np.int32), tuple(classes)),
        Column("cluster", label.astype(np.int32), tuple(f"cluster {i + 1}" for i in range(len(classes)))),
        Column("degree", np.diff(indptr).astype(np.float32)),
        Column("income", income.astype(np.float32)),
    )
    return Map(
        ids=[f"node-{i}" for i in range(n)] if ids is None else list(ids),
        xy=xy,
        layout="Two coordinates by UMAP from cosine similarities (15 neighbours).",
        nearest=near.astype(np.int32),
        similarity=np.exp(-distance / 8).astype(np.float32),
        nearest_note="Nearest nodes are exact.",
        indptr=indptr.astype(np.int32),
        indices=indices.astype(np.int32),
        columns=columns,
        shown=f"All {n:,} nodes are shown.",
    )


def synthetic(n: int = 400, *, ids: Sequence[str] | None = None, classes: Sequence[str] = CLASSES, seed: int = 0) -> Findings:
    """Findings with every part filled."""
    generator = np.random.default_rng(seed)
    view = synthetic_map(n, ids=ids, classes=classes, seed=seed)
    steps = np.arange(1, 201, dtype=np.float32)
    noise = generator.normal(size=(2, 200)) * 0.01
    positive = (-0.4 - 1.4 * (1 - np.exp(-steps / 40)) + noise[0]).astype(np.float32)
    negative = (9.2 - 0.9 * (1 - np.exp(-steps / 70)) + noise[1]).astype(np.float32)
    degree, counts = np.unique(np.diff(view.indptr), return_counts=True)
    exact = np.exp(generator.uniform(-1, 1, size=200) / 0.5).astype(np.float32)
    cluster = view.columns[1]
    assert cluster.classes is not None
    clusters = tuple(
        Cluster(
            name,
            int((cluster.values == i).sum()),
            (f"label = {classes[i]}: 90% here, 4% elsewhere", "income: mean 52,000 here, 31,000 elsewhere"),
            tuple(view.ids[j] for j in np.flatnonzero(cluster.values == i)[:3]),
        )
        for i, name in enumerate(cluster.classes)
    )
    lines = (
        Series("loss", steps, positive + negative),
        Series("positive term", steps, positive),
        Series("negative term", steps, negative),
    )
    scores = (
        Score("Local-GCL", "accuracy", 0.842, 0.006, 512),
        Score("random-init", "accuracy", 0.713, 0.011, 512),
        Score("raw-features", "accuracy", 0.581, 0.009, 1433),
    )
    clustering = "k-means on unit rows; the number of clusters has the best silhouette of 2 to 20."
    error = generator.normal(size=200) * 0.06
    return Findings(
        title="Local-GCL on papers",
        run="runs/papers",
        summary={
            "Method": "Local-GCL",
            "Graph": "papers",
            "Nodes": f"{n:,}",
            "Edges": f"{len(view.indices) // 2:,}",
            "Dimension": "512",
            "Steps": "200",
            "Time": "14 s",
            "Date": "2026-11-16",
            "Machine": "AMD EPYC, 2 threads",
        },
        map=view,
        clusters=clusters,
        clustering=clustering,
        sections={
            "loss": panels.show_losses(lines),
            "scores": panels.show_scores(
                scores, "Logistic regression on 20 labelled nodes a class, mean and deviation of 10 splits."
            ),
            "clusters": panels.show_clusters(clusters, clustering, view.ids, view.columns),
            "graph": panels.show_graph(
                Series("nodes", degree.astype(np.float32), counts.astype(np.float32)),
                {"edges within a class": 0.81, "by chance": 0.18},
                {},
            ),
            "kernel": panels.show_kernel((Series("SORF, 512 features", exact, exact * (1 + error).astype(np.float32)),)),
            "settings": panels.show_settings(
                '[method]\nname = "local-gcl"\ntemperature = 0.5\n\n[training]\nsteps = 200\nseed = 0\n'
            ),
            "load": panels.show_load(
                {
                    "Python": 'import localgcl as lg\nmodel = lg.Embedder.load("runs/papers")\nz = model.embedding_',
                    "pandas": 'import pandas as pd\nz = pd.read_parquet("runs/papers/embeddings.parquet")',
                    "Command line": "localgcl embed runs/papers -o z.parquet",
                }
            ),
        },
    )


def changed(
    findings: Findings, *, view: Map | None = None, clusters: Sequence[Cluster] | None = None, **made: Section
) -> Findings:
    """The findings with another map or other clusters, which their panel then shows; or with other sections, by name."""
    view = findings.map if view is None else view
    clusters = findings.clusters if clusters is None else tuple(clusters)
    shown = panels.show_clusters(clusters, findings.clustering, view.ids, view.columns)
    return dataclasses.replace(findings, map=view, clusters=clusters, sections={**findings.sections, "clusters": shown, **made})

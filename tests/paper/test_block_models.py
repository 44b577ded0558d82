import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import torch

from localgcl.datasets import sbm
from localgcl.graph import Graph
from paper.block_models import CLAIMS, PROBE, TRAINING, energy, linked, measure, plot, spectrum, table


def _base(n: int = 600, classes: int = 6) -> Graph:
    return sbm(n, classes=classes, mean_degree=2, features=4, splits=0)


def _mixing(graph: Graph) -> torch.Tensor:
    """Row c: how the edge ends that leave class c are spread over classes."""
    assert graph.y is not None
    counts = torch.zeros(graph.num_classes, graph.num_classes)
    counts.index_put_((graph.y[graph.rows], graph.y[graph.indices]), torch.ones(graph.num_edges), accumulate=True)
    return counts / counts.sum(1, keepdim=True)


@pytest.mark.parametrize(
    ("links", "outside"),
    [("others", (0.16, 0.16, 0.16, 0.16, 0.16)), ("ring", (0.4, 0, 0, 0, 0.4)), ("partners", (0.8, 0, 0, 0, 0))],
)
def test_who_links_to_whom(links: Any, outside: tuple[float, ...]) -> None:
    graph = linked(_base(), links, homophily=0.2, mean_degree=20, seed=0)
    assert graph.is_symmetric
    assert not graph.csr.has_loops
    assert graph.coalesced().num_edges == graph.num_edges == 600 * 20
    # Of the 2000 edge ends that leave class 0, a share has deviation of at most .011: four of them, and 1.5% that
    # repeats, which are commoner where pairs are fewer, take from the shares.
    torch.testing.assert_close(_mixing(graph)[0], torch.tensor([0.2, *outside]), rtol=0, atol=0.06)
    assert torch.equal(_mixing(graph) > 0, _mixing(graph).T > 0)


def test_only_the_edges_differ() -> None:
    base = _base()
    one, two = (linked(base, "others", phi, 6, seed=1) for phi in (0.3, 0.9))
    assert torch.equal(one.x, two.x)
    assert one.num_edges == two.num_edges
    assert one.homophily() == pytest.approx(0.3, abs=0.05)  # 1800 edges: a deviation of .011, and what repeats take
    assert two.homophily() == pytest.approx(0.9, abs=0.05)
    assert torch.equal(one.indices, linked(base, "others", 0.3, 6, seed=1).indices)
    assert not torch.equal(one.indices, linked(base, "others", 0.3, 6, seed=2).indices)


def test_what_cannot_be_linked_is_refused() -> None:
    with pytest.raises(ValueError, match="5 classes cannot be paired"):
        linked(_base(60, classes=5), "partners", 0.1, 4, seed=0)
    with pytest.raises(ValueError, match="mean_degree is 50, too many edges for 60 nodes"):
        linked(_base(60), "partners", 0.1, 50, seed=0)


def test_energy_by_frequency() -> None:
    """On a ring of n nodes, cos(2 pi k i / n) has frequency 1 - cos(2 pi k / n)."""
    n = 12
    nodes = torch.arange(n)
    ring = Graph.from_edges(nodes, (nodes + 1) % n, x=torch.zeros(n, 1)).symmetrized()
    waves = [torch.cos(2 * torch.pi * k * nodes / n) for k in (1, 5, 6)]
    expected = [1 - float(torch.cos(torch.tensor(2 * torch.pi * k / n))) for k in (1, 5, 6)]
    frequencies = spectrum(ring)
    for wave, frequency, share in zip(waves, expected, (0, 1, 1), strict=True):
        # float32 embeddings: six digits.
        assert energy(wave[:, None], frequencies) == pytest.approx((frequency, share), abs=1e-5)
    # Scale and constants do not count: every column has the same weight, and one without variance none.
    mixed = torch.stack([7 * waves[0] + 3, 0.1 * waves[2], torch.full((n,), 5.0)], dim=1)
    assert energy(mixed, frequencies) == pytest.approx(((expected[0] + expected[2]) / 2, 0.5), abs=1e-5)


def test_energy_is_the_rayleigh_quotient() -> None:
    graph = linked(_base(300), "ring", 0.2, 3, seed=0)
    assert int(graph.degree.min()) == 0  # nodes without edges are among them
    z = torch.randn(300, 5, generator=torch.Generator().manual_seed(0))
    z = (z - z.mean(0)) / z.std(0)
    degree = graph.degree.double()
    scale = torch.where(degree > 0, degree.rsqrt(), 0.0)
    laplacian = torch.eye(300).double() - torch.from_numpy(graph.to_scipy().toarray()).double() * scale[:, None] * scale
    expected = torch.trace(z.T.double() @ laplacian @ z.double()) / z.double().square().sum()
    assert energy(z, spectrum(graph))[0] == pytest.approx(float(expected), abs=1e-6)


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    quick = {method: {**options, "steps": 5} if options else {} for method, options in TRAINING.items()}
    quick["local-gcl"]["steps"] = 20
    quick["bgrl"]["warmup"] = 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PROBE, "steps", 60)
        return measure(seeds=(0,), nodes=240, homophilies=(0.2, 0.9), training=quick)


def test_a_row_for_each_claim_setting_method_and_seed(rows: list[dict[str, Any]]) -> None:
    settings = {"homophily": ["0.2", "0.9"], "neighbourhoods": ["ring", "uniform"]}
    settings["frequencies"] = [f"partners{more}" for more in ("", ", no self-loops", ", no self-loops, light training")]
    keys = [(row["claim"], row["setting"], row["method"], row["encoder"]) for row in rows]
    assert keys == [(claim, setting, *kind) for claim, kinds in CLAIMS.items() for setting in settings[claim] for kind in kinds]
    for row in rows:
        assert all(isinstance(value, str | int | float) for value in row.values())
        assert 0 <= row["high_share"] <= 1
        assert 0 <= row["frequency"] <= 2


def test_rows_are_measured(rows: list[dict[str, Any]]) -> None:
    found = {(row["setting"], row["method"], row["encoder"]): row for row in rows}
    # Far apart: the deviation over splits is two or three points.
    assert found["0.9", "local-gcl", "gcn"]["accuracy"] > found["0.2", "local-gcl", "gcn"]["accuracy"] + 30
    assert found["0.9", "raw-features", ""]["accuracy"] == found["0.2", "raw-features", ""]["accuracy"]
    # Features are drawn without looking at edges, so their energy is spread as noise is.
    assert found["uniform", "raw-features", ""]["frequency"] == pytest.approx(1, abs=0.05)
    # Averaging over neighbours takes high frequencies away before anything is learnt; an MLP does not average.
    assert found["partners", "random-init", "gcn"]["high_share"] < 0.5 * found["partners", "random-init", "mlp"]["high_share"]


def test_table_and_picture(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    shown = table(rows)
    assert shown.name == "block-models"
    assert len(shown.rows) == len(rows)  # one seed
    assert {len(line) for line in shown.rows} == {len(shown.columns)}
    assert len(table(rows + [{**row, "seed": 1} for row in rows]).rows) == len(rows)
    plot(rows, tmp_path / "blocks.svg")
    ET.parse(tmp_path / "blocks.svg")

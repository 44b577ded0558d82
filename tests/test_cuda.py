"""On a GPU: the same numbers as on the CPU, and a run that can be resumed. Skipped where there is none."""

import signal
from pathlib import Path
from typing import Any

import pytest
import scipy.sparse as sp
import torch

import localgcl as lg
from localgcl.datasets import sbm
from localgcl.losses import local_contrastive
from localgcl.methods import configure, find_method
from localgcl.nn.augment import diffuse, drop_edges, mask_features, shuffle_features
from localgcl.ops.propagation import propagation
from localgcl.ops.rows import cosine_neighbours, kmeans
from localgcl.training import Interrupted, fit, step

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU that torch can use")


@pytest.mark.parametrize("positives", ["mean", "max", "weighted"])
@pytest.mark.parametrize("negatives", ["exact", "sorf", "orf", "rff", "positive"])
def test_loss_and_gradient_equal_those_of_the_cpu(negatives: Any, positives: Any) -> None:
    graph = sbm(500, seed=0)
    z = torch.randn(500, 100, generator=torch.Generator().manual_seed(0))

    def value_and_gradient(device: str) -> tuple[torch.Tensor, torch.Tensor]:
        leaf = z.to(device).requires_grad_()
        # The generator stays on the CPU, so both devices see the same frequencies.
        options: dict[str, Any] = {"positives": positives, "negatives": negatives, "num_features": 3000}
        loss = local_contrastive(leaf, graph.to(device), generator=torch.Generator().manual_seed(1), **options)
        (gradient,) = torch.autograd.grad(loss, leaf)
        return loss.detach().cpu(), gradient.cpu()

    (a, da), (b, db) = value_and_gradient("cpu"), value_and_gradient("cuda")
    # Both in float32 with sums of thousands of terms in another order.
    torch.testing.assert_close(a, b, rtol=1e-5, atol=0)
    assert float((da - db).norm() / da.norm()) < 1e-4


def test_a_loop_of_ones_own() -> None:
    """An edge_index on the card gives the loss of the graph; rows that are NaN raise there, too."""
    graph = sbm(200, seed=0).to("cuda")
    z = torch.randn(200, 16, device="cuda")
    edges = torch.stack([graph.rows, graph.indices])
    assert torch.equal(local_contrastive(z, edges, negatives="exact"), local_contrastive(z, graph, negatives="exact"))
    z[7] = torch.nan
    with pytest.raises(ValueError, match=r"1 of 200 rows of z \(7\) are NaN"):
        local_contrastive(z, edges)


@pytest.mark.parametrize("encoder", ["gcn", "mlp"])
def test_training_evaluating_and_resuming(encoder: str, tmp_path: Path) -> None:
    graph = sbm(400, seed=2)
    settings = {"dim": 64, "num_features": 512, "negatives": "sorf", "steps": 20, "checkpoint_every": 4, "encoder": encoder}
    config = configure("local-gcl", {**settings, "device": "cuda", "batch_norm": True})
    whole = fit(graph, config)

    def interrupt(row: dict[str, Any]) -> None:
        if row["step"] == 10:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted):
        fit(graph, config, folder=tmp_path / "run", callbacks=[interrupt])
    resumed = fit(graph, config, folder=tmp_path / "run", resume=True)
    # Sparse products on a GPU may add in another order from run to run.
    torch.testing.assert_close(resumed.embed(graph), whole.embed(graph), rtol=1e-2, atol=1e-3)
    z = whole.embed(graph)
    for protocol in ("linear", "knn"):
        on_cpu, on_gpu = (lg.evaluate(z, graph, device=device, protocol=protocol).mean for device in ("cpu", "cuda"))
        assert abs(on_cpu - on_gpu) < 1  # a node or two of 320 whose two best classes are equally close


def test_features_stay_sparse_and_autocast_runs() -> None:
    graph = sbm(300, seed=3)
    sparse = graph.with_features((graph.x * (graph.x > 1.5)).to_sparse_csr())
    model = fit(sparse, configure("local-gcl", {"dim": 32, "steps": 3, "device": "cuda", "autocast": True}))
    assert model.embed(sparse).isfinite().all()


def test_views_neighbours_and_clusters_equal_those_of_the_cpu() -> None:
    graph = sbm(400, seed=3)
    on_gpu = graph.to("cuda")
    view = mask_features(drop_edges(on_gpu, 0.4, torch.Generator("cuda").manual_seed(0)), 0.3, torch.Generator("cuda"))
    made = lg.Graph.from_edges(view.rows.cpu(), view.indices.cpu(), x=view.x.cpu())
    assert torch.equal(view.indptr.cpu(), made.indptr)
    for ours, theirs in zip(view.transposed, made.transposed, strict=True):
        assert torch.equal(ours.cpu(), theirs)
    found, expected = propagation(view), propagation(made)
    # The same products of three float32 numbers; square roots may round otherwise.
    torch.testing.assert_close(found.csr.to_dense().cpu(), expected.csr.to_dense(), rtol=1e-6, atol=0)
    torch.testing.assert_close(found.transposed.csr.to_dense().cpu(), expected.csr.to_dense().T, rtol=1e-6, atol=0)
    torch.testing.assert_close(diffuse(on_gpu).cpu(), diffuse(graph), rtol=1e-4, atol=1e-6)
    shuffled = shuffle_features(on_gpu, torch.Generator("cuda").manual_seed(0))
    assert torch.equal(shuffled.x.cpu().sort(0).values, graph.x.sort(0).values)
    z = graph.x.double()
    assert torch.equal(cosine_neighbours(z.cuda(), z.cuda(), 5).cpu(), cosine_neighbours(z, z, 5))
    clusters = [kmeans(z.cuda(), 5, generator=torch.Generator("cuda").manual_seed(0), runs=3) for _ in range(2)]
    assert torch.equal(clusters[0], clusters[1])


def test_a_step_never_makes_the_host_wait() -> None:
    graph = sbm(400, seed=2).to("cuda")
    method = find_method("local-gcl")(64, configure("local-gcl", {"dim": 64, "num_features": 512, "negatives": "sorf"}))
    method.to("cuda")
    batch, generator = method.prepare(graph), torch.Generator("cuda").manual_seed(0)
    optimiser = torch.optim.Adam(method.parameters(), capturable=True)
    for taken in range(3):
        if taken == 2:  # once kernels are compiled and what is constant has been computed
            torch.cuda.set_sync_debug_mode("error")
        try:
            loss = method.loss(batch, generator)["loss"]
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        finally:
            torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("negatives", ["exact", "sorf", "rff"])
def test_recorded_steps_equal_steps_one_by_one(negatives: str, dropout: float, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = sbm(400, seed=2)
    graph = graph.with_features(sp.random_array((400, 300), density=0.02, random_state=0)) if dropout else graph
    settings = {"dim": 64, "num_features": 512, "negatives": negatives, "steps": 20, "dropout": dropout, "device": "cuda"}
    config = configure("local-gcl", settings)
    replays: list[torch.cuda.CUDAGraph] = []
    replay = torch.cuda.CUDAGraph.replay

    def counted(graph: torch.cuda.CUDAGraph) -> None:
        replays.append(graph)
        replay(graph)

    monkeypatch.setattr(torch.cuda.CUDAGraph, "replay", counted)
    recorded = fit(graph, config)
    assert len(replays) == 17  # all but the first three
    monkeypatch.setattr(step, "SMALL", 0)
    one_by_one = fit(graph, config)
    assert len(replays) == 17
    # The same kernels in the same order; Adam's bias correction is computed in another precision.
    losses = [[row["loss"] for row in model.history] for model in (recorded, one_by_one)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    a, b = recorded.embed(graph), one_by_one.embed(graph)
    assert float((a - b).norm() / b.norm()) < 1e-2


def test_fixed_frequencies_are_not_recorded() -> None:
    config = configure("local-gcl", {"dim": 16, "negatives": "sorf", "frequencies": "fixed", "steps": 10, "device": "cuda"})
    assert fit(sbm(200, seed=2), config).step == 10


def test_a_replayed_probe_equals_the_cpus() -> None:
    graph = sbm(600, classes=3, splits=2)
    settings: dict[str, Any] = {"steps": 105, "check_every": 10}  # the last steps are no whole block
    cpu, gpu = (lg.evaluate(graph.x, graph, device=device, **settings) for device in ("cpu", "cuda"))
    # Rounding may turn a node at the border of two classes; a head or step of its own would move many.
    assert cpu.values == pytest.approx(gpu.values, abs=0.5)
    assert cpu.validation == pytest.approx(gpu.validation, abs=0.5)

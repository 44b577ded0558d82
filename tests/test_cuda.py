"""On a GPU: the same numbers as on the CPU, and a run that can be resumed. Skipped where there is none."""

import signal
from pathlib import Path
from typing import Any

import pytest
import torch

import localgcl as lg
from localgcl.datasets import sbm
from localgcl.losses import local_contrastive
from localgcl.methods import configure
from localgcl.training import Interrupted, fit

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

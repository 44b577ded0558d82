import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from paper.bench.command import SUITES, all_sizes, entries
from paper.bench.setups import BENCHMARKS, Size

TINY = Size(nodes=120, dim=12, num_features=64)
DRAWN = [name for name in BENCHMARKS if name != "recipe"]


def outputs(benchmark: str, size: Size = TINY) -> dict[str, Any]:
    return {name: work() for name, work in BENCHMARKS[benchmark].setup(size).providers.items()}


@pytest.mark.parametrize("name", DRAWN)
def test_every_provider_runs_again_and_again(name: str) -> None:
    for variant in BENCHMARKS[name].variants:
        setup = BENCHMARKS[name].setup(dataclasses.replace(TINY, variant=variant))
        assert setup.size.nodes == 120
        assert "ours" in setup.providers
        for _ in range(2):
            for work in setup.providers.values():
                work()


def same(first: Tensor, second: Tensor) -> None:
    # float32 rounds at 6e-8; sums of some hundred terms near 1 stay well within 1e-5.
    torch.testing.assert_close(first, second, rtol=1e-4, atol=1e-5)


def test_transforms_agree() -> None:
    out = outputs("hadamard")
    for name in ("kronecker", "butterfly", "dense"):
        same(out["ours"].T, out[name])


def test_feature_maps_estimate_the_same_kernel() -> None:
    out = outputs("feature-map", dataclasses.replace(TINY, dim=64, num_features=4096))
    kernels = {name: psi @ psi.T for name, psi in out.items()}
    for kernel in kernels.values():
        # A pair's deviation is at most 1/sqrt(2 D) = .011; six of them for the largest of 7140 pairs, and SORF's bias of .01.
        assert float((kernel - kernels["ours-rff"]).abs().max()) < 0.08


def test_exact_gradients_agree() -> None:
    out = {name: grads[0] for name, grads in outputs("negative-term").items()}
    same(out["ours-exact"], out["dense-exact"])
    same(out["ours-exact"], out["checkpointed-exact"])
    assert all(grad.shape == (120, 12) for grad in out.values())


@pytest.mark.parametrize("variant", BENCHMARKS["positive-term"].variants)
def test_positive_gradients_agree(variant: str) -> None:
    out = outputs("positive-term", dataclasses.replace(TINY, variant=variant))
    same(out["ours"][0], out["gather"][0])


def test_encoder_gradients_agree() -> None:
    out = outputs("encoder")
    for ours, plain in zip(out["ours"], out["torch-sparse"], strict=True):
        # Gradients of a sum of squares, in the thousands: compared relative to their size.
        same(ours / ours.abs().max(), plain / ours.abs().max())


def test_sparse_features_of_a_named_graph(graphs_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALGCL_HOME", str(graphs_root))
    setup = BENCHMARKS["encoder"].setup(Size(dim=4, graph="cora"))
    assert setup.size.nodes == 2708
    assert setup.size.case == "cora"
    assert setup.size.title == "(cora)  N=2,708 d=4"
    ours, plain = (setup.providers[name]() for name in ("ours", "torch-sparse"))
    assert isinstance(ours, tuple)
    assert isinstance(plain, tuple)
    for first, second in zip(ours, plain, strict=True):
        same(first / first.abs().max(), second / first.abs().max())


def test_a_recipe_brings_its_own_sizes(graphs_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALGCL_HOME", str(graphs_root))
    settings = {"dim": 24, "num_features": 48, "steps": 7}
    monkeypatch.setattr("paper.bench.setups.recipe", lambda _, graph: settings if graph == "cora" else None)
    size = BENCHMARKS["recipe"].setup(Size(graph="cora")).size
    assert (size.nodes, size.dim, size.num_features, size.case) == (2708, 24, 48, "cora, 7 steps")
    with pytest.raises(ValueError, match="there is no recipe for 'digits'"):
        BENCHMARKS["recipe"].setup(Size(graph="digits"))


# Suites


@pytest.mark.parametrize("suite", SUITES)
def test_suites_name_what_exists(suite: str) -> None:
    for benchmark, kind in SUITES[suite]:
        assert kind in ("any", "cpu", "cuda")
        known = BENCHMARKS[benchmark].setup(TINY).providers if benchmark != "recipe" else {"ours"}
        for entry in SUITES[suite][benchmark, kind]:
            assert set(entry.providers) <= set(known)
            assert entry.size.variant in ("", *BENCHMARKS[benchmark].variants)


def test_suites_by_device() -> None:
    on_gpu, on_cpu = (entries("acceptance", "negative-term", device) for device in ("cuda", "cpu"))
    assert {entry.size.device for entry in on_gpu} == {"cuda"}
    assert {(entry.size.nodes, entry.size.dim, entry.size.num_features) for entry in on_cpu} == {
        (19717, 1024, 8192),
        (19717, 2048, 8192),
    }
    assert entries("acceptance", "encoder", "cpu") == []
    assert entries("standard", "encoder", "cuda:1")[0].size.device == "cuda:1"


def test_sizes_are_combined() -> None:
    found = all_sizes("positive-term", [10, 20], [4], [8], "", "cpu")
    assert len(found) == 2 * 3
    assert found[0].size == Size(10, 4, 8, "cpu", "", "mean")

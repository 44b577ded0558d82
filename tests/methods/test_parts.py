import copy
import logging
import math
from typing import Any

import pytest
import torch
from torch import nn

from localgcl.config import LocalGCLWarning
from localgcl.graph import Graph
from localgcl.methods import parts
from localgcl.methods.parts import Bilinear, choose_mode, follow, momentum, require_edges
from localgcl.system.devices import device_memory
from localgcl.system.memory import in_bytes


def test_momentum_rises_from_the_start_to_one() -> None:
    assert momentum(0, 100, 0.9) == pytest.approx(0.9)
    assert momentum(25, 100, 0.9) == pytest.approx(1 - 0.1 * (1 + math.sqrt(0.5)) / 2)
    assert momentum(50, 100, 0.9) == pytest.approx(0.95)
    assert momentum(100, 100, 0.9) == 1


def network(seed: int) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.PReLU())


def test_a_target_follows_in_parameters_and_not_in_buffers() -> None:
    target, online = network(0), network(1)
    online(torch.randn(9, 3))  # moves the running statistics
    before, source = copy.deepcopy(target.state_dict()), copy.deepcopy(online.state_dict())
    follow(target, online, 0.75)
    for name, _ in target.named_parameters():
        # Two roundings apart: lerp and the plain formula.
        torch.testing.assert_close(target.state_dict()[name], 0.75 * before[name] + 0.25 * source[name], rtol=1e-6, atol=1e-7)
    assert torch.equal(target.state_dict()["1.running_mean"], before["1.running_mean"])
    torch.testing.assert_close(online.state_dict(), source, rtol=0, atol=0)
    follow(target, online, 0.0)
    assert all(torch.equal(a, b) for a, b in zip(target.parameters(), online.parameters(), strict=True))


def test_networks_of_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="parameters of different shapes"):
        follow(network(0), nn.Sequential(nn.Linear(3, 5)), 0.9)


def test_bilinear_is_the_product() -> None:
    torch.manual_seed(0)
    score = Bilinear(4, 6).double()
    nn.init.constant_(score.bias, 0.5)
    h, s = torch.randn(7, 4, dtype=torch.float64), torch.randn(7, 6, dtype=torch.float64)
    expected = torch.einsum("nd,dk,nk->n", h, score.weight, s) + 0.5
    torch.testing.assert_close(score(h, s), expected)
    torch.testing.assert_close(score(h, s[0]), torch.einsum("nd,dk,k->n", h, score.weight, s[0]) + 0.5)
    reference = nn.Bilinear(4, 6, 1).double()
    reference.weight.data, reference.bias.data = score.weight.data[None], score.bias.data[None]
    torch.testing.assert_close(score(h, s), reference(h, s)[:, 0])
    assert Bilinear(5).weight.shape == (5, 5)


def test_bilinear_starts_as_published() -> None:
    torch.manual_seed(0)
    bound = math.sqrt(6 / (50 * 20 + 20))
    # Of 1000 uniform draws the largest is within 1% of the bound but for once in e^10 times.
    assert 0.99 * bound < float(Bilinear(50, 20).weight.detach().abs().max()) <= bound


def test_edges_are_required() -> None:
    loop = Graph.from_edges([0], [0], x=torch.ones(2, 1))
    with pytest.raises(ValueError, match="no two of the 2 nodes are connected, so it cannot work; add edges"):
        require_edges(loop, "it cannot work")
    require_edges(Graph.from_edges([0], [1], x=torch.ones(2, 1)), "it cannot work")


CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def four_kib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "device_memory", lambda _: 4096)


@pytest.mark.parametrize(("needed", "mode"), [(0, "faithful"), (1024, "faithful"), (1025, "scalable"), (10**15, "scalable")])
def test_auto_is_faithful_within_a_quarter_and_says_so(needed: int, mode: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "localgcl"):
        assert choose_mode("auto", needed, CPU, what="pairs") == mode
    (line,) = caplog.messages
    assert f"mode {mode} chosen for pairs: " in line
    assert "of 4.0 KiB on cpu" in line


def test_forcing_is_obeyed_and_warned_of_beyond_the_budget(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "localgcl"):
        assert choose_mode("faithful", 1024, CPU, what="pairs") == "faithful"
        for needed in (0, 10**15):
            assert choose_mode("scalable", needed, CPU, what="pairs") == "scalable"
        with pytest.warns(LocalGCLWarning, match=r"needs pairs: 2\.0 KiB of 4\.0 KiB on cpu; .* take mode scalable"):
            assert choose_mode("faithful", 2048, CPU, what="pairs") == "faithful"
    assert not caplog.messages


def test_the_machines_memory_is_some_gibibytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    with open("/proc/meminfo") as file:
        total = 1024 * int(file.readline().split()[1])
    # The kernel may count a little less than what is built in; a container may be allowed less.
    assert 0 < device_memory(CPU) <= 1.1 * total


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (3 * 2**30, "3.0 GiB"), (2**52, "4096.0 TiB")]
)
def test_sizes_are_readable(number: int, text: Any) -> None:
    assert in_bytes(number) == text

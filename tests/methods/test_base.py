import dataclasses
from typing import Any

import pytest

from localgcl.commands import main
from localgcl.config import Checked, Config, option
from localgcl.datasets import sbm
from localgcl.methods import METHODS, configure, overview
from localgcl.methods.baselines import Untrained
from localgcl.methods.parts import MODE_HELP, Mode
from localgcl.methods.settings import choose_settings
from localgcl.training import fit

SIZE = (1000, 8000, 50)


@dataclasses.dataclass(frozen=True)
class Options(Checked):
    """One option."""

    mode: Mode = option("auto", MODE_HELP)


class Toy(Untrained):
    """A method with everything that is optional."""

    Options = Options  # type: ignore[assignment]  # mypy takes the parent's choice for a declaration
    idea = "a toy"
    cost = "O(N^2)"
    augments = True
    paper = "https://example.org"
    defaults = {"layers": 1, "activation": "prelu", "activate_last": True, "learning_rate": 0.25, "dim": 24}  # noqa: RUF012

    @classmethod
    def memory(cls, num_nodes: int, num_edges: int, num_features: int, config: Config) -> int:
        pairs = 0 if config.options.mode == "scalable" else 4 * num_nodes**2
        return super().memory(num_nodes, num_edges, num_features, config) + pairs


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "toy", Toy)


def test_a_methods_defaults_lie_between_shared_ones_and_what_is_given() -> None:
    config = configure("toy", {"layers": 3})
    assert config.encoder.layers == 3
    assert config.encoder.activation == "prelu"
    assert config.encoder.activate_last
    assert config.training.learning_rate == 0.25
    assert config.encoder.batch_norm is False
    assert configure("random-init", {}).encoder.activation == "relu"
    assert configure("toy", config.flat()) == config
    assert Toy.defaults["layers"] == 1


def test_statistics_do_not_overrule_a_methods_defaults() -> None:
    graph = sbm(200, mean_degree=20, seed=0)
    assert {"dim", "batch_norm"} <= set(choose_settings("local-gcl", graph, given={"encoder": "gcn"}).values)
    chosen = choose_settings("toy", graph, given={"encoder": "gcn"})  # it inherits hops from random-init
    assert "dim" not in chosen.values
    assert "batch_norm" in chosen.values
    assert "dimensions" not in chosen.explain()
    assert fit(graph, configure("toy", {**chosen.values, "device": "cpu"})).embed(graph).shape == (200, 24)


def test_help_shows_the_methods_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "--method", "toy", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "number of layers (default: 1)" in shown
    assert "--mode {auto,faithful,scalable}" in shown
    with pytest.raises(SystemExit):
        main(["train", "--method", "grace", "--help"])
    assert "number of layers (default: 2)" in " ".join(capsys.readouterr().out.split())


def test_overview_has_a_row_a_method_and_both_modes() -> None:
    header, *rows = overview(*SIZE, 256)
    assert [row[0] for row in rows] == list(METHODS)
    row = dict(zip(header, rows[-1], strict=True))
    assert row["augments"] == "yes"
    assert row["paper"] == "https://example.org"
    assert row["memory of a step"].endswith(" scalable")
    faithful, scalable = (part.split()[:2] for part in row["memory of a step"].split(", "))
    assert faithful[1] == scalable[1] == "MiB"
    # Pairs are 4 MB = 3.8 MiB; both numbers are rounded to a tenth.
    assert float(faithful[0]) - float(scalable[0]) == pytest.approx(3.81, abs=0.11)


def test_methods_command_takes_the_users_size(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods"]) == 0
    standard = capsys.readouterr().out
    assert "169,343 nodes" in standard
    assert main(["methods", "--nodes", "1000", "--edges", "8000", "--features", "50", "--dim", "32"]) == 0
    small = capsys.readouterr().out
    assert "estimated for 1,000 nodes, 8,000 edges, 50 features, dim 32" in small
    for name in METHODS:
        assert f"\n{name} " in small
    assert small.splitlines()[1] != standard.splitlines()[1]


@pytest.mark.parametrize("name", ["local-gcl", "random-init"])
def test_memory_grows_linearly_with_the_graph(name: str) -> None:
    def bytes_of(times: int, **values: Any) -> int:
        return METHODS[name].memory(times * SIZE[0], times * SIZE[1], SIZE[2], configure(name, values))

    assert bytes_of(7, dim=64) == 7 * bytes_of(1, dim=64)
    assert bytes_of(1, dim=128) > bytes_of(1, dim=64)
    # The averaged features, and the matrix.
    inputs = 4 * 1000 * 50 + 12 * 9000
    # Trained: both layers' outputs, three gradients, and eight numbers an edge.
    step = 4 * 1000 * (2 * 64 + 3 * 64) + 8 * 4 * 8000
    assert bytes_of(1, dim=64) == inputs + (step if name == "local-gcl" else 4 * 4 * 1000 * 64)

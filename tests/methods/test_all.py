"""What holds for every method that is trained, by name from the registry: a new one is tested from its line there on.

The graph is small and awkward: directed, with a self-loop, a parallel edge, two isolated nodes, and a feature that no
node has.
"""

import dataclasses
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from localgcl.commands import main
from localgcl.config import Config
from localgcl.graph import Graph
from localgcl.methods import METHODS, configure, find_method, overview
from localgcl.recipes import recipes
from localgcl.training import Model, fit
from tests.references.graphs import messy_graph

# Three steps in six dimensions can leave embeddings alike or the loss no lower, and say so; here only that there are numbers
# counts.
pytestmark = pytest.mark.filterwarnings("ignore:the embeddings have collapsed", "ignore:in 3 steps the loss was never below")

TRAINED = [name for name, kind in METHODS.items() if kind.learns]
STEPS = 3


def awkward(num_nodes: int, seed: int = 0) -> Graph:
    x = torch.randn(num_nodes, 10, generator=torch.Generator().manual_seed(seed))
    x[:, 3] = 0
    return messy_graph(num_nodes, 6 * num_nodes, seed).with_features(x)


GRAPH = awkward(40)


def modes(name: str) -> list[str]:
    """The forms that a method has, where it has the option."""
    names = {field.name for field in dataclasses.fields(METHODS[name].Options)}
    return ["faithful", "scalable"] if "mode" in names else [""]


CASES = [pytest.param(name, mode, id=f"{name} {mode}".strip()) for name in TRAINED for mode in modes(name)]


def config_of(name: str, mode: str = "", **values: Any) -> Config:
    kept = {"dim": 6, "steps": STEPS, "log_every": 1, "checkpoint_every": 1, "device": "cpu", "warmup": 0}
    return configure(name, {**kept, **({"mode": mode} if mode else {}), **values})


@pytest.mark.parametrize("symmetrise", [True, False])
@pytest.mark.parametrize(("name", "mode"), CASES)
def test_trains_on_an_awkward_graph(name: str, mode: str, symmetrise: bool) -> None:
    model = fit(GRAPH, config_of(name, mode, symmetrise=symmetrise))
    assert [row["step"] for row in model.history] == list(range(STEPS))
    # Terms too: a number that is not finite in the log would hide what is wrong with the loss.
    values = torch.tensor([value for row in model.history for value in row.values()])
    assert bool(values.isfinite().all())
    z = model.embed(GRAPH)
    assert z.shape == (40, 6)
    assert bool(z.isfinite().all())


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_full_features_in_a_sparse_layout_are_made_dense_once(name: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of(name, mode)
    dense, sparse = (fit(graph, config) for graph in (GRAPH, GRAPH.with_features(GRAPH.x.to_sparse_csr())))
    # The same numbers in the same order, but for sums that a sparse product takes in another one; then three steps of Adam.
    torch.testing.assert_close(sparse.embed(GRAPH), dense.embed(GRAPH), rtol=1e-3, atol=1e-4)

    method = find_method(name)(GRAPH.num_features, config)
    batch = method.prepare(GRAPH.with_features(GRAPH.x.to_sparse_csr()))

    def refuse(*_: object) -> None:
        raise AssertionError("made dense at a step")

    monkeypatch.setattr(torch.Tensor, "to_dense", refuse)
    method.loss(batch, torch.Generator().manual_seed(0))


@pytest.mark.parametrize("name", TRAINED)
def test_dropout_is_not_ignored(name: str) -> None:
    method = find_method(name)
    first = [fit(GRAPH, config_of(name, dropout=share)).history[0]["loss"] for share in (0.0, 0.5)]
    assert first[0] != first[1], f"{method.__name__} does not hand its generator on to the encoder"


@pytest.mark.parametrize("name", TRAINED)
def test_a_step_moves_the_weights(name: str) -> None:
    config = config_of(name)
    before = Model.fresh(config, GRAPH.num_features, {}).method.state_dict()
    after = fit(GRAPH, config).method.state_dict()
    assert before.keys() == after.keys()
    assert any(not torch.equal(before[key], after[key]) for key in before if key.startswith("encoder"))


@pytest.mark.parametrize("name", TRAINED)
def test_embeds_a_graph_never_seen(name: str) -> None:
    model, other = fit(GRAPH, config_of(name)), awkward(25, seed=1)
    z = model.embed(other)
    assert z.shape == (25, 6)
    assert bool(z.isfinite().all())
    assert torch.equal(z, model.embed(other))  # nothing random, and nothing learnt by looking


@pytest.mark.parametrize("name", TRAINED)
def test_order_of_nodes_does_not_matter_to_embeddings(name: str) -> None:
    """Training draws random numbers in node order, so only what comes after it can be compared."""
    model = fit(GRAPH, config_of(name))
    order = torch.randperm(40, generator=torch.Generator().manual_seed(3))
    # Sums over neighbours in another order: float32 rounding.
    torch.testing.assert_close(model.embed(GRAPH.subgraph(order)), model.embed(GRAPH)[order], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", TRAINED)
def test_the_seed_decides(name: str) -> None:
    first, again, other = (fit(GRAPH, config_of(name, seed=seed)).embed(GRAPH) for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


class Stop(Exception):
    """Stands for kill -9."""


@pytest.mark.parametrize("name", TRAINED)
def test_a_killed_run_resumes_to_the_same_weights(name: str, tmp_path: Path) -> None:
    def kill(row: dict[str, Any]) -> None:
        if row["step"] == 4:
            raise Stop

    config = config_of(name, steps=8, deterministic=True)
    with pytest.raises(Stop):
        fit(GRAPH, config, folder=tmp_path / "run", callbacks=[kill])
    resumed, whole = fit(GRAPH, config, folder=tmp_path / "run", resume=True), fit(GRAPH, config)
    for key, value in whole.method.state_dict().items():
        assert torch.equal(resumed.method.state_dict()[key], value), key
    assert torch.equal(Model.load(tmp_path / "run").embed(GRAPH), whole.embed(GRAPH))


@pytest.mark.parametrize("name", TRAINED)
def test_is_listed_with_paper_and_memory(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.split() and line.split()[0] == name]
    kind = find_method(name)
    assert kind.paper.startswith("https://")
    assert kind.paper in line
    assert kind.idea
    assert kind.cost
    (row,) = [row for row in overview(1000, 8000, 50, 64) if row[0] == name]
    for mode in modes(name):
        assert kind.memory(1000, 8000, 50, config_of(name, mode)) > 0
        assert mode in row[2]


@pytest.mark.parametrize("name", TRAINED)
def test_recipes_build(name: str) -> None:
    for dataset, settings in recipes(name).items():
        assert configure(name, settings).method == name, dataset


@pytest.mark.parametrize("name", TRAINED)
def test_is_on_the_page_which_method_when(name: str) -> None:
    docs = Path(__file__).parents[2] / "docs"
    assert (docs / "methods" / f"{name}.md").read_text().strip()
    assert f"methods/{name}.md" in (docs / "which-method.md").read_text()


# Which methods augment: code, documentation and paper say the same

DOCS = Path(__file__).parents[2] / "docs"
# The Local-GCL paper, "Baselines": these use "data augmentations to generate positive or negative pairs".
IN_THE_PAPER = {"dgi", "mvgrl", "grace", "gca", "bgrl", "cca-ssg"}


def documented() -> dict[str, str]:
    """The column `augments` of the table in which-method.md, by method."""
    lines = [line.strip("| ").split(" | ") for line in (DOCS / "which-method.md").read_text().splitlines() if line[:2] == "| "]
    column = lines[0].index("augments")
    names = {cells[0].partition("`")[2].partition("`")[0]: cells for cells in lines[1:]}
    return {name: cells[column] for name, cells in names.items() if name in METHODS}


def test_the_table_has_a_row_a_method() -> None:
    assert set(documented()) == set(TRAINED)


@pytest.mark.parametrize("name", TRAINED)
def test_augments_as_the_table_and_the_paper_say(name: str) -> None:
    said = documented()[name]
    assert said == "no" or said.startswith("yes"), f"the cell {said!r} should begin with yes or no"
    assert METHODS[name].augments == said.startswith("yes") == (name in IN_THE_PAPER)


@pytest.mark.parametrize("name", TRAINED)
def test_augments_as_its_page_says(name: str) -> None:
    """A page says what is changed or that nothing is; a page that is silent on it belongs to a method that changes nothing."""
    page = " ".join((DOCS / "methods" / f"{name}.md").read_text().lower().split())
    nothing = re.search(r"nothing is augmented|augments nothing|nothing to augment|neither views nor", page)
    changed = re.search(r"two views|other view|another view|its views|whose views|corrupted copy|only augmentation", page)
    assert METHODS[name].augments == bool(changed and not nothing), f"docs/methods/{name}.md: {nothing or changed}"


@pytest.mark.parametrize("name", TRAINED)
def test_augments_as_it_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of a method that augments, and of no other, changes the graph by a function of `nn.augment`."""
    calls: list[str] = []

    def spied(change: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def spy(*args: Any, **options: Any) -> Any:
            calls.append(change)
            return function(*args, **options)

        return spy

    for change in ("drop_edges", "mask_features", "shuffle_features", "diffuse"):
        for module in [module for path, module in sys.modules.items() if path.startswith("localgcl.methods.")]:
            if hasattr(module, change):
                monkeypatch.setattr(module, change, spied(change, getattr(module, change)))
    fit(GRAPH, config_of(name, steps=1))
    assert bool(calls) == METHODS[name].augments, calls

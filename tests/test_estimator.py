from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import localgcl as lg
from localgcl.datasets import sbm
from localgcl.methods import configure
from localgcl.recipes import recipe, recipes

SMALL: dict[str, Any] = {"dim": 16, "num_features": 64, "steps": 3, "device": "cpu"}


@pytest.fixture(scope="module")
def graph() -> lg.Graph:
    return sbm(120, classes=3, features=8, seed=0)


ESTIMATORS = [lg.LocalGCL(**SMALL), lg.Embedder("local-gcl", **SMALL), lg.Embedder("random-init", dim=16, device="cpu")]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=["LocalGCL", "Embedder", "random-init"])
class TestContract:
    def test_transform_of_the_training_graph_equals_fit_transform(self, estimator: Any, graph: lg.Graph) -> None:
        estimator = clone(estimator)
        z = estimator.fit_transform(graph)
        assert isinstance(z, np.ndarray)
        assert z.shape == (120, 16)
        assert np.array_equal(z, estimator.transform(graph))

    def test_parameters_round_trip(self, estimator: Any) -> None:
        copy = clone(estimator)
        assert copy is not estimator
        assert copy.get_params() == estimator.get_params()
        copy.set_params(dim=24, random_state=5)
        assert copy.get_params()["dim"] == 24
        assert copy.get_params()["random_state"] == 5
        assert estimator.get_params()["dim"] == 16
        assert type(copy)(**copy.get_params()).get_params() == copy.get_params()

    def test_not_fitted(self, estimator: Any, graph: lg.Graph, tmp_path: Path) -> None:
        fresh = clone(estimator)
        with pytest.raises(NotFittedError):
            fresh.transform(graph)
        with pytest.raises(NotFittedError):
            fresh.save(tmp_path / "run")
        assert not (tmp_path / "run").exists()

    def test_save_and_load(self, estimator: Any, graph: lg.Graph, tmp_path: Path) -> None:
        fitted = clone(estimator).fit(graph)
        fitted.save(tmp_path / "run")
        loaded = type(estimator).load(tmp_path / "run")
        assert np.array_equal(loaded.transform(graph), fitted.transform(graph))
        assert loaded.get_params()["dim"] == 16
        with pytest.raises(FileExistsError):
            fitted.save(tmp_path / "run")

    def test_random_state(self, estimator: Any, graph: lg.Graph) -> None:
        first, again, other = (clone(estimator).set_params(random_state=s).fit_transform(graph) for s in (3, 3, 4))
        assert np.array_equal(first, again)
        assert not np.allclose(first, other)


def test_init_does_no_work_and_keeps_what_it_is_given() -> None:
    estimator = lg.LocalGCL(temperature=-1.0, encoder="banana")  # wrong, but checked at fit, as scikit-learn asks
    assert vars(estimator) == {**lg.LocalGCL().get_params(), "temperature": -1.0, "encoder": "banana"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": 0.0}, "temperature is 0.0; it must be above 0"),
        ({"temperature": float("nan")}, "temperature is nan; it must be above 0"),
        ({"num_features": 0}, "num-features is 0; it must be at least 1"),
        ({"dim": 2.5}, "dim is 2.5; it must be of type int"),
        ({"device": "cupboard"}, "device is 'cupboard'; choose auto, cpu, cuda"),
    ],
)
def test_bad_settings_are_named_at_fit(graph: lg.Graph, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lg.Embedder("local-gcl", **{**SMALL, **settings}).fit(graph)


def test_unknown_method_and_option(graph: lg.Graph) -> None:
    with pytest.raises(ValueError, match="there is no method 'local'; did you mean 'local-gcl'"):
        lg.Embedder("local").fit(graph)
    with pytest.raises(ValueError, match="no option 'temprature'; did you mean 'temperature'"):
        lg.Embedder(temprature=0.5).fit(graph)


def test_a_pipeline(graph: lg.Graph) -> None:
    z = make_pipeline(lg.LocalGCL(**SMALL), StandardScaler()).fit_transform(graph)
    # The scaler sees the embeddings: columns of mean 0 and deviation 1, up to float32 rounding.
    np.testing.assert_allclose(z.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(z.std(0), 1, atol=1e-5)


def test_foreign_graphs_are_taken(graph: lg.Graph) -> None:
    pair = (sp.csr_array(graph.to_scipy()), graph.x.numpy())
    assert np.array_equal(lg.LocalGCL(**SMALL).fit_transform(pair), lg.LocalGCL(**SMALL).fit_transform(graph))


def test_unseen_nodes_and_graphs(graph: lg.Graph) -> None:
    seen = torch.arange(100)
    model = lg.LocalGCL(**SMALL).fit(graph.subgraph(seen))
    assert model.transform(graph).shape == (120, 16)
    assert model.transform(sbm(40, classes=3, features=8, mean_degree=4, seed=9)).shape == (40, 16)
    with pytest.raises(ValueError, match="has 5 feature columns, but the model was trained on 8"):
        model.transform(sbm(40, classes=3, features=5, mean_degree=4, seed=9))


def test_history_and_choices_are_told(graph: lg.Graph) -> None:
    model = lg.LocalGCL(**SMALL).fit(graph)
    assert [row["step"] for row in model.history_] == [0, 1, 2]
    assert model.model_.config.encoder.dim == 16


def test_recipes_by_name() -> None:
    model = lg.LocalGCL.from_recipe("cora", dim=32)
    found = recipe("local-gcl", "cora")
    assert found is not None
    assert (model.dim, model.num_features, model.weight_decay) == (32, found["num_features"], found["weight_decay"])
    with pytest.raises(ValueError, match="there is no recipe for 'corra'"):
        lg.LocalGCL.from_recipe("corra")


def test_load_refuses_another_method(graph: lg.Graph, tmp_path: Path) -> None:
    lg.Embedder("random-init", dim=4, device="cpu").fit(graph).save(tmp_path / "run")
    with pytest.raises(ValueError, match=r"trained with 'random-init', not local-gcl; use Embedder\.load"):
        lg.LocalGCL.load(tmp_path / "run")


def test_a_seed_is_not_silently_ignored() -> None:
    with pytest.raises(ValueError, match="seed is 3; estimators call it random_state"):
        lg.Embedder("random-init", seed=3, dim=4).fit(lg.sbm(40, classes=2, features=4))


@pytest.mark.parametrize("dataset", recipes("local-gcl"))
def test_every_recipe_makes_an_estimator(dataset: str) -> None:
    settings = recipes("local-gcl")[dataset]
    method, asked = lg.LocalGCL.from_recipe(dataset)._asked()
    assert configure(method, {name: value for name, value in asked.items() if value is not None}) == configure(method, settings)

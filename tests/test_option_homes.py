"""An option has one home, the dataclasses of `config` and of the methods; what is said elsewhere agrees with it.

A name that is misspelt, or that other libraries use, is answered by the name that was meant, in Python as on the command line.
"""

import dataclasses
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sklearn.base import clone

import localgcl as lg
from localgcl.commands import main
from localgcl.config import EncoderOptions, Preparation, TrainingOptions, choices
from localgcl.experiments.search import tune
from localgcl.methods import METHODS

FIELDS = {
    field.name: field
    for group in (Preparation, EncoderOptions, TrainingOptions, METHODS["local-gcl"].Options)
    for field in dataclasses.fields(group)
}
PARAMETERS = {
    name: parameter
    for name, parameter in inspect.signature(lg.LocalGCL).parameters.items()
    if name not in ("random_state", "verbose", "force_memory")
}


def documented() -> dict[str, str]:
    """What the docstring of LocalGCL says of each parameter."""
    text = (lg.LocalGCL.__doc__ or "").partition("Args:")[2].partition("Example:")[0]
    found = re.findall(r"^        (\w+): (.*(?:\n {12}.*)*)", text, re.MULTILINE)
    assert len(found) == len(dict(found))
    return {name: " ".join(told.split()) for name, told in found}


def test_the_fields_of_all_groups_have_names_of_their_own() -> None:
    groups = (Preparation, EncoderOptions, TrainingOptions, METHODS["local-gcl"].Options)
    assert len(FIELDS) == sum(len(dataclasses.fields(group)) for group in groups)


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_parameter_of_the_estimator_is_a_field(name: str) -> None:
    """Left out, it is chosen from the graph (None) or has the default of its field; its type is that of the field."""
    parameter, field = PARAMETERS[name], FIELDS[name]
    assert parameter.default in (None, field.default)
    kinds = (str, field.type) if choices(field) else (field.type,)
    wanted = [kind | None if parameter.default is None else kind for kind in kinds]  # type: ignore[operator]
    assert parameter.annotation in wanted


def test_every_parameter_is_documented_once_in_the_order_of_the_signature() -> None:
    assert list(documented()) == list(inspect.signature(lg.LocalGCL).parameters)


@pytest.mark.parametrize("name", PARAMETERS)
def test_the_docstring_names_values_that_the_field_allows(name: str) -> None:
    told, field = documented()[name], FIELDS[name]
    words = set(re.findall(r'"([^"]*)"', told))
    if choices(field):
        assert words
        assert words <= set(choices(field))
    # What 0 stands for is said in both places, or in neither.
    zero = re.compile(r"\b0 (means|takes|keeps|for)\b")
    assert bool(zero.search(told)) <= bool(zero.search(field.metadata["help"]))


def test_the_signature_stays_explicit_and_scikit_learn_reads_it() -> None:
    model = lg.LocalGCL(8, temperature=0.7, random_state=3)
    assert set(model.get_params()) == set(inspect.signature(lg.LocalGCL).parameters)
    assert clone(model).get_params() == model.get_params()
    assert clone(model).set_params(dim=4).dim == 4


GRAPH = lg.sbm(60, classes=2, features=4)
UNTYPED: Any = lg.LocalGCL


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: UNTYPED(tau=0.5), TypeError, "LocalGCL has no option 'tau'; did you mean 'temperature'?"),
        (lambda: UNTYPED(dims=8), TypeError, "no option 'dims'; did you mean 'dim'?"),
        (lambda: UNTYPED(lr=0.1), TypeError, "no option 'lr'; did you mean 'learning_rate'?"),
        (lambda: UNTYPED(seed=1), TypeError, "no option 'seed'; did you mean 'random_state'?"),
        (lambda: UNTYPED(schedule="cosine"), TypeError, "Embedder('local-gcl', schedule=...) has it"),
        (lambda: lg.LocalGCL.from_recipe("cora", epochs=3), TypeError, "no option 'epochs'; did you mean 'steps'?"),
        (lambda: lg.Embedder(method="GRACE").fit(GRAPH), ValueError, "no method 'GRACE'; did you mean 'grace'?"),
        (lambda: lg.Embedder("grace", tau=0.5).fit(GRAPH), ValueError, "no option 'tau'; did you mean 'temperature'?"),
        (lambda: lg.Embedder(hidden_dim=8).fit(GRAPH), ValueError, "no option 'hidden_dim'; did you mean 'hidden'?"),
        (lambda: lg.train(GRAPH, method="CCA_SSG"), ValueError, "no method 'CCA_SSG'; did you mean 'cca-ssg'?"),
        (lambda: lg.train(GRAPH, random_state=1), ValueError, "no option 'random_state'; did you mean 'seed'?"),
        (lambda: lg.train(GRAPH, embedding_dim=1), ValueError, "no option 'embedding_dim'; did you mean 'dim'?"),
        (lambda: lg.compare(GRAPH, ["GRACE"]), ValueError, "did you mean 'grace'?"),
        (lambda: lg.compare(GRAPH, ["grace"], protocol="liner"), ValueError, "did you mean 'linear'?"),
        (lambda: lg.compare(GRAPH, ["grace"], n_jobs=2), TypeError, "compare has no option 'n_jobs'; did you mean 'jobs'?"),
        (lambda: lg.compare(GRAPH, ["grace"], setting={}), TypeError, "no option 'setting'; did you mean 'settings'?"),
        (lambda: tune(GRAPH, n_jobs=2), TypeError, "tune has no option 'n_jobs'; did you mean 'jobs'?"),
        (lambda: lg.evaluate(GRAPH.x, GRAPH, protocol="liner"), ValueError, "did you mean 'linear'?"),
        (lambda: lg.load("Corra"), ValueError, "did you mean 'cora'?"),
    ],
)
def test_a_name_that_is_not_known_is_answered_by_the_one_that_was_meant(
    call: Callable[[], Any], error: type[Exception], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=re.escape(message)):
        call()
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("command", "option", "meant"),
    [
        ("train", "--tau", "--temperature"),
        ("train", "--lr", "--learning-rate"),
        ("train", "--epochs", "--steps"),
        ("train", "--Dim", "--dim"),
        ("compare", "--n-jobs", "--jobs"),
        ("report", "--random-state", "--seed"),
    ],
)
def test_the_command_line_knows_the_same_names(
    command: str, option: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([command, "digits", option, "1"])
    assert f"there is no option {option}; did you mean {meant}?" in capsys.readouterr().err

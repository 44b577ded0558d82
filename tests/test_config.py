import collections
import dataclasses
import importlib
import math
import re
import typing
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from localgcl.commands import COMMANDS, main
from localgcl.config import (
    Checked,
    Config,
    EncoderOptions,
    Preparation,
    TrainingOptions,
    check,
    choices,
    option,
    read_toml,
    suggestion,
)
from localgcl.datasets import sbm
from localgcl.estimator import LocalGCL
from localgcl.methods import METHODS, configure
from localgcl.methods.local_gcl import Options


def unhooked(group: type[Any]) -> type[Any]:
    """The group with an __init__ made here: the tests' import hook would refuse wrong types before the group's own check."""
    return dataclasses.dataclass(frozen=True)(type(group.__name__, (group,), {}))


GROUPS = [unhooked(group) for group in (Preparation, EncoderOptions, TrainingOptions, Options)]
OPTIONS = {field.name: (group, field) for group in GROUPS for field in dataclasses.fields(group)}


def options(*kinds: Any, choice: bool = False) -> pytest.MarkDecorator:
    """Runs a test for all options, those of some types, or those with a choice."""
    chosen = {
        name: pair
        for name, pair in OPTIONS.items()
        if not (kinds or choice) or pair[1].type in kinds or (choice and choices(pair[1]))
    }
    return pytest.mark.parametrize(("group", "field"), list(chosen.values()), ids=list(chosen))


def refused(group: type[Any], field: "dataclasses.Field[Any]", value: Any, allowed: str, given: Any = None) -> None:
    """The group cannot be made, and the message names the option, the value and what is allowed, in one line.

    `given` is what is passed, where the message names one value of it only.
    """
    name = field.name.replace("_", "-")
    with pytest.raises(ValueError, match=f"^{name} is {re.escape(repr(value))}; .*{re.escape(allowed)}.*$"):
        group(**{field.name: value if given is None else given})


def test_options_are_of_the_kinds_tested_here() -> None:
    kinds = {str if choices(field) else field.type for _, field in OPTIONS.values()}
    # Any other kind of option would pass through the tests below untested.
    assert kinds == {str, bool, int, float, tuple[str, ...]}


@options()
def test_defaults_are_allowed_and_explained(group: type[Any], field: "dataclasses.Field[Any]") -> None:
    made = group()
    assert getattr(made, field.name) == field.default
    assert type(getattr(made, field.name)) is type(field.default)
    assert field.metadata["help"]


@options()
@pytest.mark.parametrize("value", [None, [1], {"a": 1}])
def test_wrong_types_are_refused(group: type[Any], field: "dataclasses.Field[Any]", value: Any) -> None:
    if typing.get_origin(field.type) is tuple:
        refused(group, field, 1 if value == [1] else value, "type str" if value == [1] else "give a tuple of values", value)
    else:
        refused(group, field, value, "choose one of " if choices(field) else f"must be of type {field.type.__name__}")  # type: ignore[union-attr]


@options(int, float)
@pytest.mark.parametrize("value", ["1", True, False])
def test_text_and_bools_are_not_numbers(group: type[Any], field: "dataclasses.Field[Any]", value: Any) -> None:
    refused(group, field, value, f"must be of type {field.type.__name__}, for example {field.default!r}")  # type: ignore[union-attr]


@options(bool)
@pytest.mark.parametrize("value", [0, 1, 1.0, "true"])
def test_numbers_and_text_are_not_bools(group: type[Any], field: "dataclasses.Field[Any]", value: Any) -> None:
    refused(group, field, value, f"must be of type bool, for example {field.default!r}")


@options(bool)
def test_both_bools_are_allowed(group: type[Any], field: "dataclasses.Field[Any]") -> None:
    assert [getattr(group(**{field.name: value}), field.name) for value in (True, False)] == [True, False]


@options(int)
def test_fractions_are_not_integers(group: type[Any], field: "dataclasses.Field[Any]") -> None:
    refused(group, field, 2.0, "must be of type int")
    refused(group, field, math.nan, "must be of type int")


@options(str)
def test_numbers_are_not_text(group: type[Any], field: "dataclasses.Field[Any]") -> None:
    refused(group, field, 0, ", ".join(choices(field)) or "must be of type str, for example 'auto'")


@options(float)
def test_whole_numbers_are_kept_as_floats(group: type[Any], field: "dataclasses.Field[Any]") -> None:
    whole = 1 if field.metadata["high"] >= 1 else 0
    kept = getattr(group(**{field.name: whole}), field.name)
    assert kept == float(whole)
    assert type(kept) is float


@options(float)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_must_be_finite(group: type[Any], field: "dataclasses.Field[Any]", value: float) -> None:
    # Infinity is above any lower bound, so the message has to say what else is wrong with it.
    refused(group, field, value, "must be finite and" if value == math.inf else "must be ")


@options(int, float)
def test_bounds(group: type[Any], field: "dataclasses.Field[Any]") -> None:
    low, high, above = (field.metadata[key] for key in ("low", "high", "above"))
    assert max(low, above) > -math.inf  # every number has a lower bound
    if low > -math.inf:
        assert getattr(group(**{field.name: low}), field.name) == low
        refused(group, field, low - 1, f"at least {shown(low)}")
    if above > -math.inf:
        refused(group, field, above, f"above {shown(above)}")
        assert group(**{field.name: above + 1e-9})
    assert getattr(group(**{field.name: high if field.type is float else int(high)}), field.name) == high
    refused(group, field, high * 2, f"at most {shown(high)}, for example")


def shown(bound: float) -> str:
    """A bound as messages have it: all digits of a whole number."""
    return f"{int(bound)}" if bound == int(bound) else f"{bound:g}"


def groups(kind: type[Any] = Checked) -> list[type[Any]]:
    """Every group of options of the package: those of all commands and methods."""
    for name in COMMANDS:
        importlib.import_module(f"localgcl.commands.{name}")
    below = [group for child in kind.__subclasses__() for group in (child, *groups(child))]
    return [group for group in below if group.__module__.startswith("localgcl.")]


NUMBERS = [
    pytest.param(group, field, id=f"{group.__module__.removeprefix('localgcl.')}-{field.name}")
    for group in dict.fromkeys(groups())
    for field in dataclasses.fields(group)
    if {int, float} & {field.type, *typing.get_args(field.type)}
]


@pytest.mark.parametrize(("group", "field"), NUMBERS)
def test_every_number_of_every_group_has_a_lowest_and_a_highest_value(
    group: type[Any], field: "dataclasses.Field[Any]"
) -> None:
    low, high, above = (field.metadata[key] for key in ("low", "high", "above"))
    assert -math.inf < max(low, above) < high < math.inf
    several = typing.get_origin(field.type) is tuple
    for value in (10**30, -(10**30)):
        with pytest.raises(ValueError, match=f"^{field.name.replace('_', '-')} is .*; it must be .* at most ") as caught:
            group(**{field.name: (value,) if several else value})
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("dim", 100_000, "dim is 100000; it must be at least 1 and at most 65536, for example 512"),
        ("layers", 2_000_000_000, "layers is 2000000000; it must be at least 1 and at most 1000, for example 2"),
        ("learning_rate", 1e25, "learning-rate is 1e+25; it must be above 0 and at most 10, for example 0.0005"),
    ],
)
def test_slips_of_the_keyboard_are_refused_wherever_they_come_from(
    name: str, value: float, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        LocalGCL(**{name: value}).fit(sbm(20, features=4, classes=2, mean_degree=2))  # type: ignore[arg-type]
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(f"[digits]\n{name} = {value!r}\n")
    for given in (["--recipe", str(recipe)], [f"--{name.replace('_', '-')}", f"{value!r}"]):
        assert main(["train", "digits", "--out", str(tmp_path / "run"), *given]) == 1
        assert capsys.readouterr().err == f"localgcl: error: {message}\n"
    assert not (tmp_path / "run").exists()


@options(choice=True)
def test_choices(group: type[Any], field: "dataclasses.Field[Any]") -> None:
    for value in choices(field):
        assert getattr(group(**{field.name: value}), field.name) == value
    for value in ("", "Raw ", str(field.default).upper(), 0, True):
        refused(group, field, value, ", ".join(choices(field)))


@pytest.mark.parametrize("group", GROUPS)
def test_groups_are_frozen(group: type[Any]) -> None:
    made = group()
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, dataclasses.fields(made)[0].name, None)


@dataclasses.dataclass(frozen=True)
class Sample(Checked):
    either: int | str = option(1, "a union of types", low=0)
    free: float = option(1.0, "a number without bounds")
    limited: float = option(0.5, "a number within bounds", above=0, high=1)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"either": 1.5}, "either is 1.5; it must be of type int or str, for example 1"),
        ({"either": True}, "either is True; it must be of type int or str, for example 1"),
        ({"either": -1}, "either is -1; it must be at least 0, for example 1"),
        ({"free": math.inf}, "free is inf; it must be finite, for example 1.0"),
        ({"free": math.nan}, "free is nan; it must be finite, for example 1.0"),
        ({"limited": 0.0}, "limited is 0.0; it must be above 0 and at most 1, for example 0.5"),
        ({"limited": 1.5}, "limited is 1.5; it must be above 0 and at most 1, for example 0.5"),
    ],
)
def test_messages_in_full(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Sample(**values)


def test_unions_and_unbounded_numbers() -> None:
    assert Sample(either="a", free=-1e300) == Sample("a", -1e300, 0.5)
    check(dataclasses.fields(Sample)[0], 10**400)  # larger than any float, and still only an integer


# Config


@pytest.mark.parametrize("method", METHODS)
def test_names_are_unique_across_groups(method: str) -> None:
    # A recipe, a config.toml and a command line are flat lists, so a name may have one home only.
    groups = [Preparation, EncoderOptions, TrainingOptions, METHODS[method].Options]
    names = [field.name for group in groups for field in dataclasses.fields(group)]
    assert [name for name, count in collections.Counter(names).items() if count > 1] == []
    assert not {"method", "random_state", "verbose", "force_memory"} & set(
        names
    )  # taken by Embedder, which accepts all options by name


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_checked_frozen_options(method: str) -> None:
    kind = METHODS[method].Options
    assert issubclass(kind, Checked)
    made = kind()
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.anything = 1  # type: ignore[attr-defined]


def test_build_sorts_values_into_their_groups() -> None:
    config = Config.build("local-gcl", Options, {"temperature": 0.7, "dim": 8, "steps": 3, "scaling": "l2"})
    assert config.method == "local-gcl"
    assert config.options == Options(temperature=0.7)
    assert config.encoder == EncoderOptions(dim=8)
    assert config.training == TrainingOptions(steps=3)
    assert config.preparation == Preparation(scaling="l2")


@pytest.mark.parametrize("method", METHODS)
def test_flat_and_build_are_each_others_inverse(method: str, tmp_path: Path) -> None:
    config = configure(method, {"dim": 8, "self_loops": 2, "device": "cpu", "symmetrise": False})
    assert config.flat()["dim"] == 8
    assert configure(method, config.flat()) == config
    path = tmp_path / "config.toml"
    path.write_text(tomli_w.dumps(config.flat()))
    assert configure(method, read_toml(path)) == config


def test_replace_changes_what_it_is_told() -> None:
    config = configure("local-gcl", {"dim": 8, "temperature": 0.7})
    changed = config.replace(dim=16)
    assert changed.flat() == {**config.flat(), "dim": 16}
    assert config.encoder.dim == 8
    with pytest.raises(ValueError, match="dim is 0"):
        config.replace(dim=0)
    with pytest.raises(ValueError, match="no option 'dims'; did you mean 'dim'"):
        config.replace(dims=8)


@pytest.mark.parametrize(
    ("name", "meant"), [("temprature", "temperature"), ("learning-rate", "learning_rate"), ("dims", "dim"), ("step", "steps")]
)
def test_unknown_options_get_a_suggestion(name: str, meant: str) -> None:
    with pytest.raises(ValueError, match=f"method 'local-gcl' has no option '{name}'; did you mean '{meant}'"):
        configure("local-gcl", {name: 1})


def test_options_of_another_method_are_unknown() -> None:
    with pytest.raises(ValueError, match="method 'random-init' has no option 'temperature'"):
        configure("random-init", {"temperature": 0.5})


def test_unknown_method_gets_a_suggestion() -> None:
    with pytest.raises(ValueError, match="no method 'localgcl'; did you mean 'local-gcl'"):
        configure("localgcl", {})


def test_without_a_near_name_all_are_listed() -> None:
    assert suggestion("zzz", {"dim": 1, "alpha": 2}) == "; known are alpha, dim"
    assert suggestion("alfa", ("dim", "alpha")) == "; did you mean 'alpha'?"


def test_bad_values_are_refused_wherever_they_come_from() -> None:
    for name, value in {"dim": 0, "temperature": -1.0, "steps": -1, "weight_decay": math.nan}.items():
        shown = name.replace("_", "-")
        with pytest.raises(ValueError, match=f"^{shown} is {value!r}"):
            configure("local-gcl", {name: value})


# TOML


def test_read_toml(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text('title = "ü"\n[table]\nx = 1\n', encoding="utf-8")
    assert read_toml(path) == read_toml(str(path)) == {"title": "ü", "table": {"x": 1}}


@pytest.mark.parametrize("content", [b"x = ", b"x = 1\nx = 2\n", b"\xff\xfe\x00", b"{}"])
def test_what_is_not_toml_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.toml"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))} is not valid TOML: ."):
        read_toml(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"gone\.toml"):
        read_toml(tmp_path / "gone.toml")

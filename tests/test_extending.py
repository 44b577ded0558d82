"""Somebody outside the package adds a method, a fitter, an engine, a panel, a metric and so on, by one registration each.

Each test ends in something that only the registered object can have done, through the command line and through Python.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest
import sklearn.metrics
import torch
from numpy.typing import NDArray

import localgcl as lg
from localgcl.commands import main
from localgcl.config import Checked, option
from localgcl.datasets import READERS, Reader
from localgcl.evaluation import METRICS, Metric, evaluate, validate
from localgcl.evaluation.scores import Array
from localgcl.io.export import WRITERS
from localgcl.methods import METHODS, Batch, Method, Terms
from localgcl.nn.encoders import Inputs
from localgcl.nn.features import MAPS, RandomFourier
from localgcl.ops import spmm
from localgcl.ops.propagation import propagation
from localgcl.report.findings import Section
from localgcl.report.markup import tag
from localgcl.report.panels import PANELS, Reading
from localgcl.training import RunFolder
from localgcl.training.engines import ENGINES, Engine, Say, Task
from localgcl.training.fitter import FITTERS
from localgcl.training.ranks import join_ranks
from localgcl.training.session import Session, Stream
from tests.evaluation.toys import clouds, thirds
from tests.references.folders import stored
from tests.references.rank_workers import launch

TINY = ["--dim", "4", "--steps", "2", "--device", "cpu", "--quiet"]


def run(*arguments: str | Path) -> int:
    return main([str(argument) for argument in arguments])


def refused(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """What is said of something that nobody registered, as an error of the input (1) or of the command line (2)."""
    try:
        code = run(*arguments)
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else -1
    assert code in (1, 2)
    return capsys.readouterr().err


# A method


@dataclasses.dataclass(frozen=True)
class PullOptions(Checked):
    reach: float = option(1.0, "the length that embeddings are pulled to", above=0)


class Pull(Method):
    """Makes all embeddings of one length, and hands out their signs: no other method's embeddings are all -1, 0 or 1."""

    Options = PullOptions
    idea, cost = "all embeddings of one length", "O(N d)"

    def loss(self, batch: Batch, generator: torch.Generator) -> Terms:
        length = self.encoder(batch.inputs, generator).norm(dim=1)
        return {"loss": (length - self.options.reach).square().mean(), "length": length.mean()}

    def embed(self, batch: Batch) -> torch.Tensor:
        return super().embed(batch).sign()


def test_a_method(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no method 'pull'" in refused(capsys, "train", "digits", "--method", "pull", *TINY, "--out", tmp_path / "no")
    monkeypatch.setitem(METHODS, "pull", Pull)

    assert run("train", "digits", "--method", "pull", "--reach", "3", *TINY, "--out", tmp_path / "run") == 0
    folder = RunFolder.open(tmp_path / "run")
    assert (folder.config.method, folder.config.options.reach) == ("pull", 3.0)
    assert all("length" in row for row in folder.read_metrics())
    z = np.load(folder.embeddings)
    assert z.shape == (1797, 4)
    assert set(np.unique(z)) <= {-1, 0, 1}

    graph = lg.sbm(60, classes=3, features=6)
    model = lg.Embedder("pull", reach=3.0, dim=4, steps=2, device="cpu")
    assert set(np.unique(model.fit_transform(graph))) <= {-1, 0, 1}
    assert [row["step"] for row in model.history_] == [0, 1]
    assert run("methods") == 0
    assert "all embeddings of one length" in capsys.readouterr().out


# A feature map


class Counting(RandomFourier):
    """Random Fourier features that count their draws."""

    draws = 0

    def build(self, dim, temperature, effective, dice):  # type: ignore[no-untyped-def]  # its parent says what these are
        type(self).draws += 1
        return super().build(dim, temperature, effective, dice)


def test_a_feature_map(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(Counting, "draws", 0)
    # Temperature 1 needs few features; too few at a low one stop the run.
    asked = ["train", "digits", "--negatives", "counting", "--num-features", "512", "--temperature", "1", *TINY]
    assert "counting" in refused(capsys, *asked, "--out", tmp_path / "no")
    monkeypatch.setitem(MAPS, "counting", Counting)

    assert run(*asked, "--out", tmp_path / "run") == 0
    assert Counting.draws == 2  # one a step: 4 dimensions are one channel
    assert RunFolder.open(tmp_path / "run").config.options.negatives == "counting"

    graph = lg.sbm(60, classes=3, features=6)
    z = torch.randn(60, 8, generator=torch.Generator().manual_seed(0))

    def loss(negatives: str) -> float:
        options = {"temperature": 1.0, "num_features": 256, "generator": torch.Generator().manual_seed(1)}
        return float(lg.losses.local_contrastive(z, graph, negatives=negatives, **options))  # type: ignore[arg-type]

    assert loss("counting") == loss("rff") != loss("orf")
    assert Counting.draws == 3
    with pytest.raises(ValueError, match="did you mean 'counting'"):
        loss("countin")


# A data set


def test_a_data_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "unknown dataset 'tiny'" in refused(capsys, "train", "tiny", *TINY, "--out", tmp_path / "no")
    graph = lg.sbm(60, classes=3, features=6)
    monkeypatch.setitem(READERS, "tiny", Reader((), lambda _: graph))

    assert lg.load("tiny") is graph
    assert run("train", "tiny", *TINY, "--out", tmp_path / "run") == 0
    assert RunFolder.open(tmp_path / "run").source == {"dataset": "tiny"}
    assert run("embed", tmp_path / "run", "-o", tmp_path / "z.npy") == 0
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), lg.LocalGCL.load(tmp_path / "run").transform(graph))


# An export format


def write_sums(file: BinaryIO, z: NDArray[np.float32], ids: NDArray[np.int64]) -> None:
    file.write("".join(f"{name} {row.sum():.3f}\n" for name, row in zip(ids, z, strict=True)).encode())


def test_an_export_format(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train", "digits", "--method", "random-init", "--dim", "4", "--quiet", "--out", tmp_path / "run") == 0
    assert "'.sums'" in refused(capsys, "embed", tmp_path / "run", "-o", tmp_path / "z.sums")
    assert not (tmp_path / "z.sums").exists()
    monkeypatch.setitem(WRITERS, ".sums", write_sums)

    assert run("embed", tmp_path / "run", "-o", tmp_path / "z.sums") == 0
    z = np.load(tmp_path / "run" / "embeddings.npy")
    assert (tmp_path / "z.sums").read_text().splitlines() == [f"{i} {row.sum():.3f}" for i, row in enumerate(z)]
    capsys.readouterr()
    with pytest.raises(SystemExit):
        run("embed", "--help")
    assert ".sums" in capsys.readouterr().out


# A fitter, and a method that takes no steps


@dataclasses.dataclass(frozen=True)
class ComponentsOptions(Checked):
    centred: bool = option(True, "subtract the mean row")


class Components(Method):
    """Principal components of what a linear encoder reads: solved, not stepped."""

    Options = ComponentsOptions
    idea, cost = "principal components of the features", "O(N f^2)"
    fitter = "components"
    distributes = True
    encoders = ("mlp", "hops")

    def loss(self, batch: Batch, generator: torch.Generator) -> Terms:
        raise NotImplementedError("components are solved for")

    @property
    def layer(self) -> torch.nn.Linear:
        """The linear layer of the only channel."""
        (layer,) = (module for module in self.encoder.modules() if isinstance(module, torch.nn.Linear))
        return layer


def rows_of(batch: Batch) -> torch.Tensor:
    """What the layer reads of the nodes of a batch."""
    rows = batch.inputs.hops[0].first if batch.inputs.hops else batch.inputs.first
    assert isinstance(rows, torch.Tensor)
    return rows.double()


@torch.no_grad()
def fit_components(method: Method, stream: Stream, session: Session) -> list[dict[str, object]]:
    """Sums over blocks and the team, then one eigendecomposition."""
    assert isinstance(method, Components)
    f = method.layer.in_features
    sums = torch.zeros(1 + f + f * f, dtype=torch.float64)
    for block in stream.blocks():
        x = rows_of(block)
        sums += torch.cat([torch.tensor([float(len(x))]), x.sum(dim=0), (x.T @ x).flatten()])
    count, mean, square = session.team.sum(sums).split([1, f, f * f])
    mean = mean / count if method.options.centred else torch.zeros(f, dtype=torch.float64)
    covariance = square.view(f, f) / count - torch.outer(mean, mean)
    values, vectors = torch.linalg.eigh(covariance)
    weight = vectors.flip(1)[:, : method.layer.out_features].T
    method.layer.weight.copy_(weight)
    method.layer.bias.copy_(-weight @ mean)
    session.log({"step": 0, "seconds": session.seconds(), "loss": float(-values.sum())})
    session.write_log()
    return session.rows


@pytest.fixture
def components(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "components", Components)
    monkeypatch.setitem(FITTERS, "components", fit_components)


def principal(x: NDArray[np.float64], dim: int) -> NDArray[np.float64]:
    """The first principal components of rows, up to sign."""
    centred = x - x.mean(axis=0)
    found: NDArray[np.float64] = centred @ np.linalg.svd(centred, full_matrices=False)[2][:dim].T
    return found


@pytest.mark.usefixtures("components")
@pytest.mark.parametrize("batch", [0, 17])
def test_a_fitter(batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localgcl.graph.mapped.BLOCK", 25)  # several blocks
    graph = lg.sbm(60, classes=3, features=6)
    settings: dict[str, Any] = {"encoder": "mlp", "layers": 1, "dim": 4, "scaling": "raw", "batch": batch}
    model = lg.Embedder("components", device="cpu", **settings)
    z, expected = model.fit_transform(graph), principal(graph.x.double().numpy(), 4)
    # Signs are eigh's; sums of 60 rows in double precision, weights in single.
    np.testing.assert_allclose(np.abs(z), np.abs(expected), atol=1e-5)
    assert len(model.history_) == 1

    lg.train(graph, tmp_path / "run", method="components", device="cpu", **settings)
    np.testing.assert_array_equal(lg.Embedder.load(tmp_path / "run").transform(graph), z)
    found = lg.compare(graph, ["components"], seeds=1, settings=settings, protocol="knn", device="cpu")
    assert [line.method for line in found.lines if line.method == "components"] == ["components"]


def test_a_fitter_that_nobody_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "components", Components)
    with pytest.raises(ValueError, match="method components names the fitter 'components'"):
        lg.Embedder("components", dim=4, encoder="mlp", device="cpu").fit(lg.sbm(60, classes=3, features=6))


class Means(Method):
    """The mean of neighbours' features: nothing is learned by steps, and there are no parameters."""

    Options = ComponentsOptions
    encodes = False
    idea, cost = "neighbours' means", "O(E f)"

    def prepare(self, graph: lg.Graph) -> Batch:
        return Batch(graph, Inputs(graph.x))

    def loss(self, batch: Batch, generator: torch.Generator) -> Terms:
        raise NotImplementedError("nothing is learned")

    def embed(self, batch: Batch) -> torch.Tensor:
        return spmm(propagation(batch.graph, 0.0, "row"), batch.graph.x)

    def refresh_statistics(self, batch: Batch) -> None:
        """Does nothing: there are none."""


def test_a_method_without_parameters(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    graph = lg.sbm(60, classes=3, features=6)
    monkeypatch.setitem(METHODS, "means", Means)
    with pytest.raises(ValueError, match=r"means has no parameters that steps could change; .*fitter = 'none'"):
        lg.Embedder("means", device="cpu").fit(graph)

    monkeypatch.setattr(Means, "fitter", "none")
    z = lg.Embedder("means", scaling="raw", device="cpu").fit_transform(graph)
    dense = graph.to_scipy().toarray()
    np.testing.assert_allclose(z, dense / dense.sum(axis=1, keepdims=True) @ graph.x.numpy(), atol=1e-5)
    found = lg.compare(graph, ["means"], seeds=1, protocol="knn")
    assert "means" in {line.method for line in found.lines}
    assert refused(capsys, "compare", "digits", "--methods", "mean") != ""


def test_a_method_of_the_first_version_runs_or_says_what_to_change() -> None:
    class Old(Pull):
        trained = False  # as version 0.1 said it

    assert (Old.fitter, Old.learns) == ("none", True)
    with pytest.raises(TypeError, match="batches takes reduce, which is team now"):

        class _Older(Pull):
            def batches(self, graph, *, first=0, reduce=None):  # type: ignore[no-untyped-def, override]  # noqa: ARG002
                return super().batches(graph, first=first)

    with pytest.raises(TypeError, match=r"embed_rows\(graph\) is embed_blocks\(graph, rows, team\) now"):

        class _Oldest(Pull):
            def embed_rows(self, graph):  # type: ignore[no-untyped-def]  # noqa: ARG002
                return iter(())


# An engine


class Launched(Engine):
    """Ranks that torch's own launcher starts, from this process."""

    def run(self, task: Task, say: Say) -> None:
        assert self.workers is not None
        task.check(self.workers)
        answers = launch(self.workers, work, task)
        say(f"{len(answers)} processes were launched")


def work(task: Task) -> None:
    """What each of them does; the registrations of the test are made here, too."""
    torch.set_num_threads(1)
    METHODS["components"], FITTERS["components"] = Components, fit_components
    with join_ranks() as ranks:
        task(ranks, lambda _: None)


@pytest.mark.usefixtures("components")
def test_an_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two processes fit one method by sums over their shares of a graph folder."""
    folder = tmp_path / "graph"
    graph = stored(lg.sbm(400, features=10, seed=0), folder)
    settings = ["--encoder", "hops", "--channels", "X", "--dim", "4", "--batch", "70", "--scaling", "raw", "--device", "cpu"]
    settings += ["--no-batch-norm"]
    train: list[str | Path] = ["train", folder, "--method", "components", *settings, "--layers", "1"]
    assert "launched" in refused(capsys, *train, "--out", tmp_path / "no", "--engine", "launched", "--workers", "2")
    monkeypatch.setitem(ENGINES, "launched", Launched)

    assert run(*train, "--out", tmp_path / "run", "--engine", "launched", "--workers", "2") == 0
    assert "2 processes were launched" in capsys.readouterr().out
    z, expected = np.load(tmp_path / "run" / "embeddings.npy"), principal(graph.x.double().numpy(), 4)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)  # channels of hops are unit rows
    np.testing.assert_allclose(np.abs(z), np.abs(expected), atol=1e-4)
    assert RunFolder.open(tmp_path / "run").made["ranks"] == 2
    parts = tmp_path / "parts"
    assert run("embed", tmp_path / "run", "-o", parts, "--engine", "launched", "--workers", "2", "--quiet") == 0
    assert len(list(parts.glob("part-*-of-00002.parquet"))) == 2


# A panel of the report


def ties(reading: Reading) -> Section | None:
    """How many nodes hold together."""
    n = reading.subject.part.num_nodes
    return Section("Ties & knots", tag("p", f"{n} nodes hold together."), {"nodes": n}, {"ties": "Loose ends."}, link="Ties")


def test_a_panel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train", "digits", "--method", "random-init", "--dim", "4", "--quiet", "--out", tmp_path / "run") == 0
    command: list[str | Path] = ["report", tmp_path / "run", "--layout", "pca", "--clusters", "2", "--no-scores", "--force"]
    assert run(*command) == 0
    assert "Ties" not in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    monkeypatch.setitem(PANELS, "ties", ties)
    monkeypatch.setitem(PANELS, "nothing", lambda _: None)
    capsys.readouterr()

    assert run(*command) == 0
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert '<a href="#ties">Ties</a>' in page
    assert '<h2 id="ties-title">Ties &amp; knots</h2><p>1797 nodes hold together.</p></section>' in page
    assert 'id="nothing"' not in page
    assert "ties: Loose ends." in capsys.readouterr().out  # as other notes are printed
    found = lg.write_report(tmp_path / "run", overwrite=True, layout="pca", clusters=2, scores=False)
    assert found.data["ties"] == {"nodes": 1797}
    assert list(found.sections) == [*PANELS][:-1]


# A metric


def balanced(truth: Array, predicted: Array) -> float:
    return 100.0 * float(sklearn.metrics.balanced_accuracy_score(truth, predicted))


def test_a_metric(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    z, y = clouds(n=300, spread=0.9)
    z[y == 0] += 0.5
    split = thirds(300)
    before = evaluate(z, y, [split], protocol="knn")
    assert before.extra == {}
    monkeypatch.setitem(METRICS, "balanced accuracy", Metric("classes", balanced))

    scores = evaluate(z, y, [split], protocol="knn")
    # The mean of the recalls, by its definition.
    assert scores.extra["balanced accuracy"][0] == pytest.approx(np.mean(list(scores.recall.values())))
    assert (scores.metric, scores.values) == (before.metric, before.values)
    assert "balanced accuracy" in str(scores)
    assert list(validate(z, y, [split], protocol="knn").extra) == ["validation balanced accuracy"]
    for protocol in ("linear", "sklearn"):
        assert "balanced accuracy" in evaluate(z, y, [split], protocol=protocol).extra

    folder = tmp_path / "run"
    assert run("train", "digits", "--method", "random-init", "--dim", "4", "--quiet", "--out", folder) == 0
    capsys.readouterr()
    asked: list[str | Path] = ["evaluate", folder, "--protocol", "knn", "--splits", "1", "--no-baselines"]
    assert run(*asked) == 0
    assert "balanced accuracy" in capsys.readouterr().out
    assert run(*asked, "--json") == 0
    assert "balanced accuracy" in json.dumps(json.loads(capsys.readouterr().out))

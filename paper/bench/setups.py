"""What is measured: one setup function for each benchmark. It makes inputs and names the providers, which compute the same.

"ours" is what the library does; names that begin with "ours-" are other forms of it; the rest are plain PyTorch.
"""

import copy
import dataclasses
import math
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial

import torch
from torch import Tensor

from localgcl.config import EncoderOptions
from localgcl.datasets import load, sbm
from localgcl.graph import Graph
from localgcl.losses import negative_term, positive_term, unit_rows
from localgcl.methods import configure
from localgcl.nn.encoders import GCN, Inputs
from localgcl.nn.features import MAPS
from localgcl.ops import hadamard
from localgcl.ops.costs import Form
from localgcl.ops.frequencies import padded_size
from localgcl.ops.propagation import propagation
from localgcl.recipes import recipe
from localgcl.training import fit
from paper.bench import plain
from paper.bench.measure import Work

TEMPERATURE = 0.5
LAYERS = 3
FORMS: dict[str, Form] = {"ours": "sorf", "ours-exact": "exact", "ours-orf": "orf", "ours-rff": "rff"}
"""Which form of the negative term a provider computes; the cost model is fitted to these."""


@dataclasses.dataclass(frozen=True)
class Size:
    """The size of the inputs: N nodes, d dimensions, D frequencies, and where they are.

    A named `graph` sets the number of nodes; without one a graph is drawn (`sbm`). A setup that has no frequencies sets
    `num_features` to 0.
    """

    nodes: int = 4000
    dim: int = 512
    num_features: int = 4096
    device: str = "cpu"
    graph: str = ""
    variant: str = ""

    @property
    def case(self) -> str:
        return ", ".join(filter(None, (self.graph, self.variant)))

    @property
    def title(self) -> str:
        features = f" D={self.num_features:,}" if self.num_features else ""
        return f"{f'({self.case})  ' if self.case else ''}N={self.nodes:,} d={self.dim:,}{features}"

    def generator(self) -> torch.Generator:
        return torch.Generator(self.device).manual_seed(0)

    def directions(self) -> Tensor:
        """Random unit rows that require a gradient."""
        z = torch.randn(self.nodes, self.dim, device=self.device, generator=self.generator())
        return unit_rows(z)[0].requires_grad_()


@dataclasses.dataclass(frozen=True)
class Setup:
    """The providers, and the size after the graph or the recipe has set its part of it."""

    size: Size
    providers: dict[str, Work]


@dataclasses.dataclass(frozen=True)
class Benchmark:
    """A setup, one line on what it measures, its variants, and whether one run takes minutes."""

    setup: Callable[[Size], Setup]
    text: str
    variants: tuple[str, ...] = ("",)
    long: bool = False


def hadamard_setup(size: Size) -> Setup:
    """Forward only; N vectors, padded from d to a power of two. Ours has nodes along the contiguous axis."""
    padded = 1 << (size.dim - 1).bit_length()
    rows = torch.randn(size.nodes, padded, device=size.device, generator=size.generator())
    columns = rows.T.contiguous()
    providers: dict[str, Work] = {"ours": partial(hadamard, columns)}
    transforms = {"kronecker": plain.kronecker_hadamard, "butterfly": plain.butterfly_hadamard, "dense": plain.dense_hadamard}
    providers |= {name: partial(transform, rows) for name, transform in transforms.items()}
    return Setup(dataclasses.replace(size, num_features=0), providers)


def feature_map_setup(size: Size) -> Setup:
    """Forward only: N x 2D features; frequencies are drawn before."""
    z, generator = size.directions().detach(), size.generator()
    providers: dict[str, Work] = {}
    for name in ("sorf", "orf", "rff"):
        draw = MAPS[name](size.num_features).draw(size.dim, TEMPERATURE, generator=generator, device=size.device)
        providers["ours" if name == "sorf" else f"ours-{name}"] = partial(draw.psi, z)
    frequencies = _frequencies(size, generator)
    return Setup(size, providers | {"dense-rff": lambda: plain.rff(z, frequencies)} | _plain_sorf(size, z, generator))


def negative_term_setup(size: Size) -> Setup:
    """Forward and backward, with fresh frequencies each time."""
    z, generator = size.directions(), size.generator()
    alive = torch.ones(size.nodes, dtype=torch.bool, device=size.device)

    def ours(form: Form) -> Tensor:
        return negative_term(z, alive, TEMPERATURE, form, num_features=size.num_features, generator=generator).total

    forwards: dict[str, Callable[[], Tensor]] = {name: partial(ours, form) for name, form in FORMS.items()}
    forwards["dense-rff"] = lambda: plain.kernel_negative(plain.rff(z, _frequencies(size, generator)), TEMPERATURE)
    for name, psi in _plain_sorf(size, z, generator).items():
        forwards[name] = partial(lambda psi: plain.kernel_negative(psi(), TEMPERATURE), psi)
    forwards["dense-exact"] = lambda: plain.dense_negative(z, TEMPERATURE)
    forwards["checkpointed-exact"] = lambda: plain.checkpointed_negative(z, TEMPERATURE)
    return Setup(size, {name: _with_backward(forward, [z]) for name, forward in forwards.items()})


def positive_term_setup(size: Size) -> Setup:
    """Forward and backward; the variant is how positives are averaged."""
    graph, size = _graph(dataclasses.replace(size, num_features=0))
    z, alive = size.directions(), torch.ones(size.nodes, dtype=torch.bool, device=size.device)
    neighbours = graph.neighbourhoods
    forwards: dict[str, Callable[[], Tensor]] = {
        "ours": lambda: positive_term(z, alive, graph, TEMPERATURE, size.variant or "mean"),  # type: ignore[arg-type]
        "gather": lambda: plain.gathered_positive(z, neighbours.rows, neighbours.indices, TEMPERATURE, size.variant or "mean"),
    }
    return Setup(size, {name: _with_backward(forward, [z]) for name, forward in forwards.items()})


def encoder_setup(size: Size) -> Setup:
    """Forward and backward of a GCN of three layers, all d wide."""
    graph, size = _graph(dataclasses.replace(size, num_features=0))
    encoder, inputs, by_torch = _encoders(size, graph)
    parameters = list(encoder.parameters())
    forwards: dict[str, Callable[[], Tensor]] = {"ours": lambda: encoder(inputs), "torch-sparse": by_torch}

    def energy(forward: Callable[[], Tensor]) -> Tensor:
        return forward().square().sum()

    return Setup(size, {name: _with_backward(partial(energy, forward), parameters) for name, forward in forwards.items()})


def train_step_setup(size: Size) -> Setup:
    """One whole step of training, GCN of three layers and SORF negatives, and its parts."""
    graph, size = _graph(size)
    encoder, inputs, by_torch = _encoders(size, graph)
    parameters, generator = list(encoder.parameters()), size.generator()
    optimiser = torch.optim.Adam(parameters, lr=1e-4)
    neighbours = graph.neighbourhoods

    def positive(z: Tensor, alive: Tensor) -> Tensor:
        return positive_term(z, alive, graph, TEMPERATURE)

    def negative(z: Tensor, alive: Tensor) -> Tensor:
        return negative_term(z, alive, TEMPERATURE, "sorf", num_features=size.num_features, generator=generator).total

    def ours(encoder: GCN) -> Tensor:
        z, alive = unit_rows(encoder(inputs))
        return positive(z, alive) + negative(z, alive)

    def by_hand() -> Tensor:
        z, _ = unit_rows(by_torch())
        attraction = plain.gathered_positive(z, neighbours.rows, neighbours.indices, TEMPERATURE)
        return attraction + plain.kernel_negative(plain.rff(z, _frequencies(size, generator)), TEMPERATURE)

    def step(loss: Callable[[], Tensor]) -> None:
        optimiser.zero_grad()
        loss().backward()
        optimiser.step()

    # A part's input is computed at its first call, so that running out of memory is charged to that part. The parts have an
    # encoder of their own, because the optimiser must not change the weights that a kept loss depends on.
    still = copy.deepcopy(encoder)
    embedding = cache(lambda: unit_rows(still(inputs).detach()))
    loss = cache(lambda: ours(still))
    providers: dict[str, Work] = {
        "ours": lambda: step(lambda: ours(encoder)),
        "plain": lambda: step(by_hand),
        "part-encoder": lambda: still(inputs),
        "part-positive": lambda: positive(*embedding()),
        "part-negative": lambda: negative(*embedding()),
        "part-backward": lambda: torch.autograd.grad(loss(), list(still.parameters()), retain_graph=True),
        "part-optimiser": optimiser.step,
    }
    return Setup(size, providers)


def recipe_setup(size: Size) -> Setup:
    """Training on a named graph with its own recipe, from preparing the graph to the last step."""
    name = size.graph or "cora"
    settings = recipe("local-gcl", name)
    if settings is None:
        raise ValueError(f"there is no recipe for {name!r}; name a graph that has one, for example cora")
    graph, config = load(name), configure("local-gcl", {**settings, "device": size.device, "log_every": 10})
    sizes = {"nodes": graph.num_nodes, "dim": config.encoder.dim, "num_features": config.options.num_features}
    size = dataclasses.replace(size, graph=name, variant=f"{config.training.steps} steps", **sizes)
    return Setup(size, {"ours": partial(fit, graph, config)})


BENCHMARKS = {
    "hadamard": Benchmark(hadamard_setup, "the Walsh-Hadamard transform of N vectors, forward"),
    "feature-map": Benchmark(feature_map_setup, "random features of N unit vectors, forward"),
    "negative-term": Benchmark(negative_term_setup, "the all-pairs term, forward and backward"),
    "positive-term": Benchmark(positive_term_setup, "the neighbour term, forward and backward", ("mean", "max", "weighted")),
    "encoder": Benchmark(encoder_setup, "a GCN of three layers, forward and backward"),
    "train-step": Benchmark(train_step_setup, "one training step, whole and in parts"),
    "recipe": Benchmark(recipe_setup, "training with the recipe of a named graph, start to end", long=True),
}


def _with_backward(forward: Callable[[], Tensor], inputs: Sequence[Tensor]) -> Work:
    return lambda: torch.autograd.grad(forward(), inputs)


def _frequencies(size: Size, generator: torch.Generator) -> Tensor:
    return torch.randn(size.dim, size.num_features, device=size.device, generator=generator) / math.sqrt(TEMPERATURE)


def _plain_sorf(size: Size, z: Tensor, generator: torch.Generator) -> dict[str, Callable[[], Tensor]]:
    padded = padded_size(size.dim)
    shape = (3, -(-size.num_features // padded), padded)

    def psi(transform: plain.Hadamard) -> Tensor:
        signs = 2.0 * torch.randint(2, shape, device=size.device, generator=generator) - 1
        return plain.sorf(z, signs, size.num_features, TEMPERATURE, transform)

    return {
        "kronecker-sorf": lambda: psi(plain.kronecker_hadamard),
        "butterfly-sorf": lambda: psi(plain.butterfly_hadamard),
    }


@lru_cache(maxsize=2)
def _load(name: str, nodes: int, device: str) -> Graph:
    graph = load(name).symmetrized() if name else sbm(nodes, splits=0)
    return graph.to(device)


def _graph(size: Size) -> tuple[Graph, Size]:
    graph = _load(size.graph, size.nodes, size.device)
    return graph, dataclasses.replace(size, nodes=graph.num_nodes)


def _encoders(size: Size, graph: Graph) -> tuple[GCN, Inputs, Callable[[], Tensor]]:
    """Ours with its inputs, and a plain one with the same weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        encoder = GCN(graph.num_features, EncoderOptions(dim=size.dim, layers=LAYERS)).to(size.device)
    adjacency = propagation(graph).csr.to_sparse_coo().coalesce()
    x = graph.x if graph.x.layout == torch.strided else graph.x.to_sparse_coo().coalesce()
    weights, biases = ([getattr(layer, name) for layer in encoder.weights] for name in ("weight", "bias"))
    return encoder, encoder.inputs(graph), lambda: plain.sparse_gcn(x, adjacency, weights, biases)

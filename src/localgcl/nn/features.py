r"""Random feature maps $\psi$ with $\psi(x)^T \psi(y) \approx$ a kernel of x and y, one class each.

On unit vectors $e^{x^T y/\tau} = e^{1/\tau}\,\kappa(x, y)$ with the Gaussian kernel $\kappa(x, y) = e^{-\|x-y\|^2/(2\tau)}$
(the paper prints the constant as e and leaves out the square). Bochner's theorem makes $\kappa$ the mean of
$\cos(\omega^T(x - y))$ over frequencies $\omega \sim N(0, I/\tau)$, so with D of them

$$\psi(x) = [\cos(W^T x), \sin(W^T x)] / \sqrt D, \qquad W = [\omega_1 \dots \omega_D] \in R^{d \times D},$$

D frequencies, 2D outputs, and $\psi(x)^T\psi(x) = 1$ exactly. The paper prints the law as $N(0, \tau I)$, which is the
kernel of bandwidth $1/\sqrt\tau$; `law="printed"` draws from it, for reproduction studies only.

A map defines how frequencies are drawn; `draw` draws them. One draw must serve both factors of $\psi(z_i)^T \sum_k \psi(z_k)$.
"""

import abc
import dataclasses
import math
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from localgcl.ops.frequencies import DenseFrequencies, Frequencies, StructuredFrequencies, padded_size


@dataclasses.dataclass(frozen=True)
class FeatureMap(abc.ABC):
    """A recipe for random features.

    Args:
        num_features: D, the number of frequencies.
        fixed_seed: None draws fresh frequencies from the caller's generator each time, which keeps the kernel's gradient
            unbiased over training; a seed gives the same frequencies each time.
        law: "correct", or "printed" for the paper's inverted frequency variance.
    """

    num_features: int = 4096
    fixed_seed: int | None = None
    law: Literal["correct", "printed"] = "correct"

    def __post_init__(self) -> None:
        if isinstance(self.num_features, bool) or not isinstance(self.num_features, int) or self.num_features < 1:
            raise ValueError(
                f"num_features is {self.num_features!r}; it must be a whole number of at least 1, for example 4096"
            )
        if self.law not in ("correct", "printed"):
            raise ValueError(f"law is {self.law!r}; choose 'correct' or 'printed'")

    def draw(
        self,
        dim: int,
        temperature: float,
        *,
        generator: torch.Generator | None = None,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> "Draw":
        """Features for vectors of `dim` entries. Drawn on the generator's device, then moved."""
        if not (math.isfinite(temperature) and temperature > 0):
            raise ValueError(f"temperature is {temperature}; it must be above 0, for example 0.5")
        if self.fixed_seed is not None:
            generator = torch.Generator().manual_seed(self.fixed_seed)
        # The inverted law is the right one at the inverse temperature.
        effective = temperature if self.law == "correct" else 1 / temperature
        return self.build(dim, temperature, effective, Dice(generator, torch.device(device), dtype))

    @abc.abstractmethod
    def build(self, dim: int, temperature: float, effective: float, dice: "Dice") -> "Draw":
        """Features of vectors of `dim` entries at `temperature`, from the random numbers of `dice`; what a map defines.

        `effective` is the temperature of the kernel that is estimated: another one under the printed law.
        """


@dataclasses.dataclass(frozen=True)
class Dice:
    """Random numbers from the caller's generator, and the device and type they are converted to."""

    generator: torch.Generator | None
    device: torch.device
    dtype: torch.dtype

    def normal(self, rows: int, columns: int) -> Float[Tensor, "{rows} {columns}"]:
        # In double precision, so that float32 and float64 losses see the same frequencies.
        return torch.randn(rows, columns, generator=self.generator, device=self._source, dtype=torch.float64)

    def signs(self, *shape: int) -> Tensor:
        return self.place(2 * torch.randint(2, shape, generator=self.generator, device=self._source) - 1)

    def place(self, values: Tensor) -> Tensor:
        return values.to(self.device, self.dtype)

    @property
    def _source(self) -> torch.device:
        return self.device if self.generator is None else self.generator.device


class Draw(abc.ABC):
    """Drawn features of unit vectors, with psi(x).psi(y) ~ kappa(x, y) = exp(x.y / tau) / e^(1 / tau).

    Args:
        width: Number of outputs of psi.
        temperature: tau.
        effective: The tau of the estimated kernel; it differs from `temperature` only under the printed law.
        frequencies: The frequencies of Fourier features, from which fused kernels start; None for positive features.
    """

    def __init__(self, width: int, temperature: float, effective: float, frequencies: Frequencies | None = None) -> None:
        self.width, self.offset, self.frequencies = width, 1 / temperature, frequencies
        # kappa >= e^(-2/tau) on the sphere, and a vector's kernel with itself is 1.
        self._least = math.exp(-2 / effective)

    @abc.abstractmethod
    def psi(self, z: Float[Tensor, "n d"]) -> Float[Tensor, "n w"]: ...

    def floor(self, num_nodes: Tensor, *, include_self: bool = True) -> Tensor:
        """A true lower bound of the kernel sum over `num_nodes` unit vectors, one of them the anchor itself (or left out)."""
        others = (num_nodes - 1) * self._least
        return 1 + others if include_self else others


class _Fourier(Draw):
    """Cosines and sines of the angles W^T z."""

    frequencies: Frequencies

    def __init__(self, frequencies: Frequencies, temperature: float, effective: float) -> None:
        super().__init__(2 * frequencies.count, temperature, effective, frequencies)

    def psi(self, z: Float[Tensor, "n d"]) -> Float[Tensor, "n w"]:
        angles = self.frequencies.angles(z)
        return torch.cat([angles.cos(), angles.sin()], dim=1) / math.sqrt(self.frequencies.count)


class _Positive(Draw):
    def __init__(self, matrix: Float[Tensor, "d D"], temperature: float) -> None:
        super().__init__(matrix.shape[1], temperature, temperature)
        self.matrix = matrix

    def psi(self, z: Float[Tensor, "n d"]) -> Float[Tensor, "n w"]:
        return (z @ self.matrix - self.offset).exp() / math.sqrt(self.width)


class RandomFourier(FeatureMap):
    """RFF (Rahimi & Recht, 2007): independent Gaussian frequencies. Unbiased. psi costs O(d D) a row."""

    def build(self, dim: int, temperature: float, effective: float, dice: Dice) -> Draw:
        frequencies = dice.normal(dim, self.num_features) / math.sqrt(effective)
        return _Fourier(DenseFrequencies(dice.place(frequencies)), temperature, effective)


class OrthogonalFourier(FeatureMap):
    r"""ORF (Yu et al., 2016): Gaussian frequencies made orthogonal in blocks of d, with their own chi-distributed lengths.

    Unbiased, with a smaller variance than RFF. psi costs O(d D) a row, a draw O(d^2 D).
    """

    def build(self, dim: int, temperature: float, effective: float, dice: Dice) -> Draw:
        blocks = []
        for start in range(0, self.num_features, dim):
            size = min(dim, self.num_features - start)
            directions, upper = torch.linalg.qr(dice.normal(dim, size).to(dice.dtype))
            # Fixing the signs of R's diagonal makes the directions uniform (Haar) instead of tied to the QR routine.
            directions = directions * upper.diagonal().sign()
            lengths = torch.linalg.vector_norm(dice.normal(dim, size), dim=0)
            blocks.append(directions * lengths)
        frequencies = torch.cat(blocks, dim=1) / math.sqrt(effective)
        return _Fourier(DenseFrequencies(dice.place(frequencies)), temperature, effective)


class StructuredOrthogonal(FeatureMap):
    r"""SORF (Yu et al., 2016), the paper's default: $W^T = \frac{\sqrt{d'}}{\sigma} H D_3 H D_2 H D_1$ in blocks of d'.

    d' is d rounded up to a power of two, at least 64, H the Hadamard matrix and D_i random signs; $\lceil D/d' \rceil$ blocks
    are stacked and cut to D. psi costs O(D log d) a row in operations and a draw O(D). All frequencies have the same length, so
    the kernel estimated on average is not quite Gaussian: the loss it gives is off by about -0.06, -0.015 at d' = 64, 256 and
    tau = 0.5, however large D is. Padding is why d' is at least 64: at d' = 16 it would be off by -0.25.
    """

    def build(self, dim: int, temperature: float, effective: float, dice: Dice) -> Draw:
        size = padded_size(dim)
        blocks = -(-self.num_features // size)
        scale = math.sqrt(size / effective)
        frequencies = StructuredFrequencies(dice.signs(3, blocks, size), scale, self.num_features)
        return _Fourier(frequencies, temperature, effective)


class PositiveRandom(FeatureMap):
    r"""Positive features (Choromanski et al., 2021): $\psi(x) = e^{\omega^T x/\sqrt\tau - 1/\tau}/\sqrt D$, D outputs.

    On unit vectors $\psi(x)^T\psi(y)$ estimates $e^{(x^T y - 1)/\tau} = \kappa(x, y)$ without bias and never below zero, with
    a variance that grows fast as tau falls. (Half the shift, $1/(2\tau)$, estimates $e^{x^T y/\tau}$ itself; the rest is the
    constant that all maps here split off, so that small tau does not overflow.)
    """

    def build(self, dim: int, temperature: float, effective: float, dice: Dice) -> Draw:
        if self.law != "correct":
            raise ValueError("law='printed' concerns Fourier features; positive features have no printed variant")
        frequencies = dice.normal(dim, self.num_features) / math.sqrt(effective)
        return _Positive(dice.place(frequencies), temperature)


MAPS: dict[str, type[FeatureMap]] = {
    "sorf": StructuredOrthogonal,
    "orf": OrthogonalFourier,
    "rff": RandomFourier,
    "positive": PositiveRandom,
}
"""Feature maps by name. Losses, options and the command line know a map from the line that registers it here:
`MAPS["mine"] = MyMap`."""


def negatives() -> tuple[str, ...]:
    """The ways to compute an all-pairs term: exactly, by a feature map, or by the cheaper of these."""
    return "auto", "exact", *MAPS

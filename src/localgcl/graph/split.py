"""Split: a division of the nodes into training, validation and test nodes."""

import dataclasses

import torch
from jaxtyping import Int
from torch import Tensor


@dataclasses.dataclass(frozen=True, eq=False)
class Split:
    """One division of the nodes into `train`, `val` and `test` index tensors, pairwise disjoint."""

    train: Int[Tensor, " a"]
    val: Int[Tensor, " b"]
    test: Int[Tensor, " c"]
    name: str = "split"

    def to(self, device: torch.device | str) -> "Split":
        return Split(self.train.to(device), self.val.to(device), self.test.to(device), self.name)

    def copy(self) -> "Split":
        return Split(self.train.clone(), self.val.clone(), self.test.clone(), self.name)

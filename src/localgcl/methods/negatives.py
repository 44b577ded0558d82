"""Methods whose loss has a term over all pairs of rows: exact, or by random features, in the form that "auto" chooses once."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from localgcl.losses.local import clamp_message
from localgcl.methods.base import NOTHING, Kernel, Method
from localgcl.nn.features import MAPS, FeatureMap
from localgcl.ops.costs import Form, choose_negatives, explain


class AllPairs(Method):
    """A method with the options `negatives`, `num_features`, `temperature` and `max_clamped`.

    Where `negatives` is "auto", the form of each part's term is chosen once, before training (see `ops.costs`).
    """

    widths: list[int]
    """Columns of the parts of the embedding, each of which has a term of its own."""
    rows_of_a_node: ClassVar[int] = 1
    """Rows of a node in the term: one for each view."""

    def resolve(
        self, num_nodes: int, device: torch.device, *, shared: bool = False, known: Mapping[str, Any] = NOTHING
    ) -> None:
        """The form of the negative term of each part, where "auto" leaves the choice."""
        if self.options.negatives == "auto":
            rows, count = self._rows(num_nodes), len(self.widths)
            forms = known.get("negatives") or [self._form(rows, width, device, shared=shared) for width in self.widths]
            if not isinstance(forms, list | tuple) or len(forms) != count or not set(forms) <= {"exact", *MAPS}:
                raise ValueError(f"negatives were chosen as {forms!r:.100}; give {count} of exact, {', '.join(MAPS)}")
            self.chosen["negatives"] = list(forms)

    def choices(self, num_nodes: int, device: torch.device) -> list[str]:
        """A line for each form that "auto" has chosen, by the widest part that has it."""
        forms, lines = self.chosen.get("negatives", []), []
        rows, per = self._rows(num_nodes), "step and channel" if len(forms) > 1 else "step"
        for form in dict.fromkeys(forms):
            widths = [width for width, own in zip(self.widths, forms, strict=True) if own == form]
            of = f" of {len(widths)} of {len(forms)} channels, up to {max(widths)} wide" if len(widths) < len(forms) else ""
            lines.append(f"negatives{of}: {explain(form, rows, max(widths), self.options.num_features, device, per=per)}")
        return lines

    def negatives(self, z: Float[Tensor, "n d"], part: int, *, shared: bool) -> str | FeatureMap:
        """The negative term of one part, whose rows are z: "exact", or a feature map with its options."""
        name = self.options.negatives
        if name == "auto":  # a loop of the user's own resolves nothing
            chosen = self.chosen.get("negatives")
            name = chosen[part] if chosen else self._form(self.rows_of_a_node * len(z), z.shape[1], z.device, shared=shared)
        return self.feature_map(name) if name in MAPS else name

    def feature_map(self, name: str) -> FeatureMap:
        """The feature map called `name`, with this method's options."""
        return MAPS[name](self.options.num_features)

    def compared(self, z: Float[Tensor, "n d"]) -> list[tuple[str, Float[Tensor, "n _"]]]:
        """Of each part its name, empty where there is one, and what the loss compares of embeddings z."""
        return [("", z)]

    @torch.no_grad()
    def kernels(self, z: Float[Tensor, "n d"]) -> tuple[tuple[Kernel, ...], str]:
        """One for each part whose negative term is not exact."""
        if sum(self.widths) != z.shape[1]:
            return (), "Principal components mix the channels, whose kernels the loss estimated."
        forms = self.chosen.get("negatives") or [self.options.negatives] * len(self.widths)
        found = tuple(
            Kernel(name, rows, self.feature_map(form), self.options.temperature)
            for form, (name, rows) in zip(forms, self.compared(z), strict=True)
            if form in MAPS
        )
        return found, "" if found else "The negative term was computed exactly, without random features."

    def watch(self, values: dict[str, Any]) -> None:
        if values["clamped"] > self.options.max_clamped:
            raise ValueError(clamp_message(values["clamped"], self.options.temperature))

    def _rows(self, num_nodes: int) -> int:
        return self.rows_of_a_node * min(self.config.training.batch or num_nodes, num_nodes)

    def _form(self, rows: int, width: int, device: torch.device, *, shared: bool) -> Form:
        options = self.options
        return choose_negatives(rows, width, options.num_features, options.temperature, distributed=shared, device=device)

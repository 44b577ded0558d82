"""Fitters: what learns a method's weights from a stream of nodes. A method names its fitter."""

from collections.abc import Callable

from localgcl.config import suggestion
from localgcl.methods import Method
from localgcl.training.session import Row, Session, Stream
from localgcl.training.steps import fit_by_steps

Fitter = Callable[[Method, Stream, Session], list[Row]]
"""Changes a method's weights and returns the logged rows (see `Session.log`).

All processes of `session.team` call it, each on its share of the stream; `session.team.sum` sums over all of them. It takes
steps on `stream.batches`, or solves for sums over `stream.blocks`.
"""


def fit_nothing(method: Method, stream: Stream, session: Session) -> list[Row]:  # noqa: ARG001
    """For methods without weights to learn: only what the encoder averages over nodes is computed."""
    method.refresh_statistics(next(stream.batches()))
    return []


FITTERS: dict[str, Fitter] = {"steps": fit_by_steps, "none": fit_nothing}
"""Fitters by name. `FITTERS["mine"] = fit_mine` makes one known to methods that say `fitter = "mine"`."""


def fitter_of(method: Method) -> Fitter:
    """The fitter that a method names; ValueError if it cannot fit this method."""
    name = method.config.method
    if method.fitter not in FITTERS:
        raise ValueError(f"method {name} names the fitter {method.fitter!r:.100}{suggestion(method.fitter, FITTERS)}")
    if method.fitter == "steps" and not any(parameter.requires_grad for parameter in method.parameters()):
        raise ValueError(f"method {name} has no parameters that steps could change; name another fitter (fitter = 'none')")
    return FITTERS[method.fitter]

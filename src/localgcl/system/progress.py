"""Progress on stderr: a bar on a terminal or in a notebook; elsewhere (cron, logs) a line every half minute."""

import contextlib
import importlib.util
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any, Protocol, TypeVar

from tqdm import tqdm

Block = TypeVar("Block", bound=Sized)
FIRST, EVERY = 5.0, 30.0
"""Seconds before the first line, and between lines."""


class Bar(Protocol):
    """What reports progress."""

    def update(self, count: float = 1) -> object:
        """Adds `count` to what is done."""

    def set_postfix(self, **values: Any) -> None:
        """Shows values beside the bar, such as the loss."""


class Lines:
    """Prints a line after `FIRST` seconds, then one every `EVERY`: what is done, values such as the loss, the time left.

    Args:
        title: Name of the work; empty if there is only one.
        total: Number of units; 0 if unknown.
        unit: Name of what is counted.
        initial: Units that a resumed run had done before.
        say: Prints a line.
        clock: Returns the time in seconds.
    """

    def __init__(
        self,
        title: str,
        total: float,
        unit: str,
        initial: float = 0,
        *,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._title, self._total, self._unit, self._initial = title, total, unit, initial
        self._say, self._clock = say, clock
        self._done, self._values = initial, dict[str, Any]()
        self._started = clock()
        self._due = self._started + FIRST

    def update(self, count: float = 1) -> None:
        self._done += count
        now = self._clock()
        if now >= self._due and (not self._total or self._done < self._total):
            self._due = now + EVERY
            self._say(self._line(now - self._started))

    def set_postfix(self, **values: Any) -> None:
        self._values |= values

    def _line(self, seconds: float) -> str:
        done = f"{self._unit} {self._done:,.0f}" + (f" of {self._total:,.0f}" if self._total else "")
        parts = [done, *(f"{name} {value}" for name, value in self._values.items())]
        if self._total and self._done > self._initial:
            parts.append(f"{duration(seconds * (self._total - self._done) / (self._done - self._initial))} left")
        return f"{self._title}{': ' * bool(self._title)}{', '.join(parts)}"


@contextlib.contextmanager
def progress(total: float, unit: str, *, title: str = "", initial: float = 0, shown: bool = True, **bar: Any) -> Iterator[Bar]:
    """Yields a progress bar, on stderr if `shown`. `bar` holds further options of tqdm."""
    if shown and (sys.stderr.isatty() or _in_notebook()):
        with _tqdm()(total=total or None, desc=title or None, initial=initial, unit=unit, leave=False, **bar) as drawn:
            yield drawn
    else:
        yield Lines(title, total, unit.strip(), initial, say=_on_stderr if shown else lambda _: None)


def counted(blocks: Iterable[Block], total: int, unit: str, *, title: str = "", shown: bool = True) -> Iterator[Block]:
    """Passes the blocks on, and advances a progress bar by the number of rows of each."""
    with progress(total, f" {unit}", title=title, shown=shown, unit_scale=True) as bar:
        for block in blocks:
            yield block
            bar.update(len(block))


def duration(seconds: float) -> str:
    """A duration in words.

    Example:
        >>> duration(42.4), duration(200), duration(4000)
        ('42 s', '3 min', '1 h 7 min')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _on_stderr(line: str) -> None:
    sys.stderr.write(f"localgcl: {line}\n")
    sys.stderr.flush()


def _in_notebook() -> bool:
    """Whether this runs in a Jupyter kernel, which shows bars though its stderr is not a terminal."""
    shell = sys.modules.get("IPython")
    found = None if shell is None else shell.get_ipython()
    return found is not None and hasattr(found, "kernel")


def _tqdm() -> type[Any]:
    """tqdm's bar; that of notebooks where there are widgets."""
    if _in_notebook() and importlib.util.find_spec("ipywidgets") is not None:
        from tqdm.notebook import tqdm as with_widgets

        return with_widgets
    return tqdm

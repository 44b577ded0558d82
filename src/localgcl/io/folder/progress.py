"""How far a stage is, and the time it has left, on stderr."""

import contextlib
import time
from collections.abc import Callable, Iterator

from tqdm import tqdm


class Progress:
    """Shows a bar for each stage, if there is a terminal, and says one line when it is done."""

    def __init__(self, say: Callable[[str], None] = lambda _: None, *, bar: bool = False) -> None:
        self._say, self._bar = say, bar

    @contextlib.contextmanager
    def stage(self, title: str, total: int, unit: str = "rows") -> Iterator[Callable[[int], object]]:
        """Yields what takes the number of rows that were done since the last call. `total` may be an estimate."""
        started = time.perf_counter()
        hidden = None if self._bar else True
        with tqdm(total=total or None, desc=title, unit=f" {unit}", unit_scale=True, leave=False, disable=hidden) as bar:
            yield bar.update
        self._say(f"{title}: {time.perf_counter() - started:.1f} s")

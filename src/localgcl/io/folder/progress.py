"""How far a stage is, and the time it has left, on stderr."""

import contextlib
import time
from collections.abc import Callable, Iterator

from localgcl.system.progress import progress


class Progress:
    """Shows how far each stage is, and says one line when it is done."""

    def __init__(self, say: Callable[[str], None] = lambda _: None, *, bar: bool = False) -> None:
        self._say, self._bar = say, bar

    @contextlib.contextmanager
    def stage(self, title: str, total: int, unit: str = "rows") -> Iterator[Callable[[int], object]]:
        """Yields what takes the number of rows that were done since the last call. `total` may be an estimate."""
        started = time.perf_counter()
        with progress(total, f" {unit}", title=title, shown=self._bar, unit_scale=True) as bar:
            yield bar.update
        self._say(f"{title}: {time.perf_counter() - started:.1f} s")

"""Makes an input smaller for as long as it has the same finding."""

from collections.abc import Callable

from tests.datasets.small import Files
from tests.fuzz.inputs import Finding
from tests.fuzz.targets import TARGETS
from tests.fuzz.workers import Progress, outcome, timed_attempt

ATTEMPTS = 600  # for each file


def minimised(reader: str, files: Files, kind: str, memory: int) -> Files:
    """The files that differ from the first seed, each shortened while the finding stays of this kind."""
    crashes = kind.startswith("process ended")
    progress = Progress()

    def all_in_one_worker() -> None:
        progress.keep(_shortened_files(reader, files, lambda changed: _is(timed_attempt(reader, changed), kind)))

    if not crashes and not progress.run_worker(all_in_one_worker, memory):
        small: Files = progress.result
        return small
    return _shortened_files(reader, files, lambda changed: _is(outcome(reader, changed, memory), kind))


def shortened(content: bytes, holds: Callable[[bytes], bool]) -> bytes:
    """The content without the pieces that `holds` does not need: halves first, then ever smaller ones."""
    size, left = len(content) // 2, ATTEMPTS
    while size and left > 0:
        start = 0
        while start < len(content) and left > 0:
            shorter = content[:start] + content[start + size :]
            left -= 1
            if holds(shorter):
                content = shorter
            else:
                start += size
        size //= 2
    return content


def _shortened_files(reader: str, files: Files, holds: Callable[[Files], bool]) -> Files:
    seed = TARGETS[reader].seeds[0]
    changed = {name: content for name, content in files.items() if content != seed[name]}
    for name in changed:

        def same(content: bytes, name: str = name) -> bool:
            return holds({**seed, **changed, name: content})

        changed[name] = shortened(changed[name], same)
    return changed


def _is(found: Finding | bool, kind: str) -> bool:
    return isinstance(found, Finding) and found.kind == kind

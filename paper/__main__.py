"""`python -m paper NAME` repeats an experiment of the paper; `python -m paper bench NAME` measures speed and memory."""

import sys
from collections.abc import Sequence

from localgcl.commands import run_command


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code, as `localgcl.commands.main` does."""
    return run_command(*chosen(sys.argv[1:] if argv is None else argv))


def chosen(arguments: Sequence[str]) -> tuple[str, str, list[str]]:
    """What the user calls the command, its module, and its own arguments."""
    if list(arguments[:1]) == ["bench"]:
        return "python -m paper bench", "paper.bench.command", [*arguments[1:]]
    return "python -m paper", "paper.reproduce", [*arguments]


if __name__ == "__main__":
    sys.exit(main())

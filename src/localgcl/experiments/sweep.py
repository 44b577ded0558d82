"""What decides a result: the settings by which stored results are found again."""

from typing import Any

from localgcl.config import Config

# Options that affect how a run executes, not its result.
_EXECUTION = ("seed", "device", "threads", "deterministic", "log_every", "checkpoint_every", "tensorboard")


def decisive_settings(config: Config) -> dict[str, Any]:
    """Every setting that decides a result but the seed, defaults included (see `Config.decisive`)."""
    return {name: value for name, value in config.decisive().items() if name not in _EXECUTION}

import pytest

from localgcl.experiments.compare import comparing
from localgcl.system.memory import Cost


@pytest.fixture(autouse=True)
def _unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measuring collects garbage first, which takes longer here than a training does."""
    monkeypatch.setattr(comparing, "measured", lambda work, _: (work(), Cost(2.5, 3 * 2**20)))

"""Teams: shares cover all places once."""

import dataclasses

import pytest

from localgcl.system.team import ALONE, Team, share


@dataclasses.dataclass(frozen=True)
class One(Team):
    rank: int
    size: int


@pytest.mark.parametrize(("count", "size"), [(10, 1), (10, 3), (2, 5), (0, 2)])
def test_shares_cover_all_places_once_and_evenly(count: int, size: int) -> None:
    shares = [share(count, One(rank, size)) for rank in range(size)]
    assert [place for part in shares for place in part] == list(range(count))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_a_team_of_one() -> None:
    assert (ALONE.broadcast("x"), share(4, ALONE)) == ("x", range(4))

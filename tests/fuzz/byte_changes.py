"""Changes of bytes, whatever they mean: flips, cuts, splices, and other numbers and words in text."""

import re
from collections.abc import Sequence
from random import Random

INTEGERS = (0, 1, -1, 2, 3, 127, 128, 255, 256, 65_535, 65_536, 3 * 10**8, 10**9, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1)
NUMBERS = (*(str(i) for i in INTEGERS), "-9223372036854775808", "9" * 40, "1e400", "-1e39", "nan", "inf", "0.5", "007", "1_0")
WORDS = ("source", "target", "id", "NULL", *"\0\"'\n\r\t,; é\ufeff\ud800", "\x1b[31m", "")


def _position(rng: Random, content: bytes) -> int:
    """Any position, headers more often."""
    return rng.randrange(len(content) + 1 if rng.random() < 0.6 else min(len(content), 128) + 1)


def _flip(rng: Random, content: bytes, _: Sequence[bytes]) -> bytes:
    at = _position(rng, content)
    return content[:at] + bytes(byte ^ (1 << rng.randrange(8)) for byte in content[at : at + 1]) + content[at + 1 :]


def _overwrite(rng: Random, content: bytes, _: Sequence[bytes]) -> bytes:
    at, width = _position(rng, content), rng.choice((1, 2, 4, 8))
    value = rng.choice(INTEGERS) if rng.random() < 0.7 else rng.getrandbits(8 * width)
    new = (value % (1 << 8 * width)).to_bytes(width, rng.choice(("little", "little", "big")))
    return content[:at] + new + content[at + width :]


def _cut(rng: Random, content: bytes, _: Sequence[bytes]) -> bytes:
    at = _position(rng, content)
    return content[:at] if rng.random() < 0.8 else content[at:]


def _delete(rng: Random, content: bytes, _: Sequence[bytes]) -> bytes:
    at = _position(rng, content)
    return content[:at] + content[at + rng.choice((1, 2, 4, 8, 32)) :]


def _repeat(rng: Random, content: bytes, _: Sequence[bytes]) -> bytes:
    at, size = _position(rng, content), rng.choice((1, 2, 4, 8, 32, 128))
    return content[:at] + content[at : at + size] * rng.choice((2, 3, 50)) + content[at + size :]


def _splice(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    other = rng.choice(others)
    start, at = _position(rng, other), _position(rng, content)
    piece = other[start : start + rng.choice((4, 16, 64, 10_000))]
    return content[:at] + piece + content[at + rng.choice((0, len(piece))) :]


def _other_number(rng: Random, content: bytes, _: Sequence[bytes]) -> bytes:
    """Another number in place of one that is written as text."""
    return replace_match(rng, content, rb"-?\d+(\.\d+)?", rng.choice(NUMBERS).encode())


def _other_word(rng: Random, content: bytes, _: Sequence[bytes]) -> bytes:
    return replace_match(rng, content, rb"[A-Za-z_]+|[,\t\n\"']", rng.choice(WORDS).encode("utf-8", "surrogatepass"))


def replace_match(rng: Random, content: bytes, pattern: bytes, new: bytes) -> bytes:
    places = [match.span() for match in re.finditer(pattern, content)]
    if not places:
        return content + new
    start, end = rng.choice(places)
    return content[:start] + new + content[end:]


CHANGES = (_flip, _overwrite, _cut, _delete, _repeat, _splice, _other_number, _other_number, _other_word)

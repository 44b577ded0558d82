import pytest

from localgcl.system.text import listed, shown


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("plain name.csv", "plain name.csv"),
        ("naïve — 表.csv", "naïve — 表.csv"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\x9b2J", r"\x9b2J"),  # a control sequence in one byte
        ("two\nlines\r\tand\ttabs", r"two\nlines\r\tand\ttabs"),
        ("txt.\u202efdp", r"txt.\u202efdp"),  # turns the direction of writing
        ("bytes that are no text \udcff", r"bytes that are no text \udcff"),
    ],
)
def test_what_does_not_print_is_escaped(text: str, safe: str) -> None:
    assert shown(text) == safe
    assert shown(text).isprintable()
    shown(text).encode()  # what a terminal is sent


def test_names_are_quoted_escaped_and_counted() -> None:
    assert listed(["a", "\x1b[31m"]) == r"'a', '\x1b[31m'"
    assert listed(str(i) for i in range(7)) == "'0', '1', '2', '3', '4', '5'... (7 in all)"

"""Colours of the map, for the page and for pictures: readable on white and on black, and by colour-blind people."""

CATEGORIES = (
    "#2f78c4",
    "#ef8a17",
    "#1fa187",
    "#b5174b",
    "#e490fc",
    "#54e484",
    "#78309c",
    "#9c6c00",
    "#f06078",
    "#006c6c",
    "#9084fc",
    "#d8c000",
    "#b448a8",
    "#6cc0c0",
    "#903c00",
    "#c084b4",
    "#4848c0",
    "#b4a860",
    "#fc90a8",
    "#0ca8d8",
)
"""Classes, largest first. Each colour is as far as possible from those before it, as people with each kind of colour blindness
see them (OKLab distance; the test simulates them). Beyond twenty classes nobody can tell colours apart: the rest is `OTHER`."""

OTHER = "#8b8f96"
"""Classes beyond `CATEGORIES`."""

MISSING = "#b9bcc2"
"""Nodes without a value."""

SEQUENCE = ("#46327e", "#2f6b9a", "#1f9e89", "#7cc552", "#f4d03f")
"""Numbers, from low to high: lightness rises evenly, so that the order survives a grey printer."""

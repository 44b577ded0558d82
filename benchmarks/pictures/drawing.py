"""A small SVG canvas for diagrams: boxes, dots, arrows and text on a white card, which is readable on dark pages too."""

import dataclasses
import math
from collections.abc import Sequence
from html import escape

from paper.plots import COLOURS

BLUE, ORANGE, GREEN, PINK, BLACK, AMBER, SKY, WINE, OLIVE, GREY = COLOURS
INK, FAINT = "#1c2430", "#9aa2ad"
Point = tuple[float, float]


@dataclasses.dataclass
class Drawing:
    """Elements are drawn in the order in which they are added; the origin is the upper left corner."""

    width: int
    height: int
    title: str
    parts: list[str] = dataclasses.field(default_factory=list)

    def text(self, x: float, y: float, words: str, *, size: int = 13, anchor: str = "middle", colour: str = INK) -> None:
        """Lines are separated by newlines; y is the middle of them all. A line in *stars* is italic."""
        lines = words.split("\n")
        for number, line in enumerate(lines):
            slant = ' font-style="italic"' if line.startswith("*") else ""
            top = y + (number - (len(lines) - 1) / 2) * size * 1.35 + size * 0.35
            self.parts.append(
                f'<text x="{x:g}" y="{top:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}"{slant}>'
                f"{escape(line.strip('*'))}</text>"
            )

    def box(
        self, x: float, y: float, width: float, height: float, words: str = "", *, colour: str = GREY, size: int = 13
    ) -> None:
        """A rounded box around the point (x, y), tinted in its colour."""
        self.parts.append(
            f'<rect x="{x - width / 2:g}" y="{y - height / 2:g}" width="{width:g}" height="{height:g}" rx="7" '
            f'fill="{colour}" fill-opacity="0.13" stroke="{colour}" stroke-width="1.6"/>'
        )
        if words:
            self.text(x, y, words, size=size)

    def dot(self, at: Point, *, radius: float = 7, colour: str = GREY, words: str = "") -> None:
        self.parts.append(
            f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius:g}" fill="{colour}" stroke="white" stroke-width="1.2"/>'
        )
        if words:
            self.text(at[0], at[1] - radius - 9, words)

    def ring(self, at: Point, radius: float, *, colour: str = FAINT, dashed: bool = False) -> None:
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(
            f'<circle cx="{at[0]:g}" cy="{at[1]:g}" r="{radius:g}" fill="none" stroke="{colour}" stroke-width="1.4"{dash}/>'
        )

    def line(self, start: Point, end: Point, *, colour: str = FAINT, width: float = 1.4, dashed: bool = False) -> None:
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(
            f'<line x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" '
            f'stroke="{colour}" stroke-width="{width:g}"{dash}/>'
        )

    def arrow(self, start: Point, end: Point, *, colour: str = INK, width: float = 1.6, dashed: bool = False) -> None:
        """A line with a head at its end."""
        angle = math.atan2(end[1] - start[1], end[0] - start[0])
        length = 5 + 2 * width
        base = (end[0] - length * math.cos(angle), end[1] - length * math.sin(angle))
        sides = [
            (base[0] + side * 0.45 * length * math.sin(angle), base[1] - side * 0.45 * length * math.cos(angle))
            for side in (-1, 1)
        ]
        self.line(start, base, colour=colour, width=width, dashed=dashed)
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in (end, *sides))
        self.parts.append(f'<polygon points="{corners}" fill="{colour}"/>')

    def chain(self, y: float, boxes: Sequence[tuple[float, float, str, str]], height: float = 58) -> None:
        """Boxes (x, width, words, colour) from left to right, with arrows between them."""
        for place, (x, width, words, colour) in enumerate(boxes):
            self.box(x, y, width, height, words, colour=colour)
            if place:
                before = boxes[place - 1]
                self.arrow((before[0] + before[1] / 2 + 4, y), (x - width / 2 - 4, y))

    def svg(self) -> str:
        style = 'role="img" font-family="Helvetica, Arial, sans-serif"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
            f'height="{self.height}" {style}>\n<title>{escape(self.title)}</title>\n'
            f'<rect width="{self.width}" height="{self.height}" rx="10" fill="white"/>\n' + "\n".join(self.parts) + "\n</svg>\n"
        )

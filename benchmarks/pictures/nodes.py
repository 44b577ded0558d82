"""Diagrams of nodes: what attracts and repels, and what a step reads."""

import math

from benchmarks.pictures.drawing import BLUE, FAINT, GREY, ORANGE, SKY, Drawing, Point

PALE = "#c9ced6"


def _around(centre: Point, radius: float, degrees: float) -> Point:
    return centre[0] + radius * math.cos(math.radians(degrees)), centre[1] - radius * math.sin(math.radians(degrees))


def loss() -> Drawing:
    """Unit vectors on a circle: neighbours are pulled, all nodes are pushed apart."""
    it = Drawing(760, 330, "The loss pulls the embeddings of neighbours together and pushes those of all nodes apart")
    graph = {
        "i": (110.0, 160.0),
        "a": (60.0, 90.0),
        "b": (190.0, 110.0),
        "c": (240.0, 210.0),
        "d": (170.0, 260.0),
        "e": (50.0, 250.0),
    }
    for first, second in (("i", "a"), ("i", "b"), ("b", "c"), ("c", "d"), ("d", "e")):
        it.line(graph[first], graph[second], colour=BLUE if first == "i" else FAINT, width=2.4 if first == "i" else 1.4)
    for name, at in graph.items():
        it.dot(at, radius=9, colour=ORANGE if name == "i" else BLUE if name in "ab" else GREY, words=name)
    it.text(140, 305, "the graph: a and b are neighbours of i", size=12)
    it.arrow((275, 165), (355, 165), width=2)
    it.text(315, 148, "encoder", size=12)
    centre, radius = (500.0, 160.0), 118.0
    it.ring(centre, radius)
    angles = {"i": 75.0, "a": 128.0, "b": 18.0, "c": 292.0, "d": 246.0, "e": 196.0}
    places = {name: _around(centre, radius, angle) for name, angle in angles.items()}
    for name in "cde":  # pushes, away from i
        away = _around(centre, radius + 26, angles[name] + (16 if name == "c" else -16 if name == "e" else 0))
        it.arrow(places[name], away, colour=ORANGE, width=2)
    for name, turn in (("a", -26), ("b", 28)):  # pulls, towards i along the circle
        it.arrow(places[name], _around(centre, radius, angles[name] + turn), colour=BLUE, width=2.6)
    for name, at in places.items():
        it.dot(at, radius=9, colour=ORANGE if name == "i" else BLUE if name in "ab" else GREY)
        inside = _around(centre, radius - 22, angles[name])
        it.text(*inside, f"z {name}", size=12)
    it.text(500, 305, "embeddings as unit vectors", size=12)
    it.arrow((650, 110), (690, 110), colour=BLUE, width=2.6)
    it.text(690, 130, "neighbours attract", size=12, colour=BLUE)
    it.arrow((650, 200), (690, 200), colour=ORANGE, width=2)
    it.text(690, 220, "all nodes repel", size=12, colour=ORANGE)
    return it


def kernel() -> Drawing:
    """All pairs cost N² numbers, random features one vector of 2D numbers."""
    it = Drawing(760, 290, "All pairs cost N times N numbers; with random features every node meets one sum")
    nodes = range(6)
    it.text(170, 28, "all pairs: N² similarities", size=13)
    left = [(70.0, 65.0 + 36 * k) for k in nodes]
    right = [(270.0, 65.0 + 36 * k) for k in nodes]
    for a in left:
        for b in right:
            it.line(a, b, colour=ORANGE, width=0.8)
    for at in (*left, *right):
        it.dot(at, colour=GREY)
    it.text(560, 28, "random features: 2N", size=13)
    first = [(430.0, 65.0 + 36 * k) for k in nodes]
    second = [(690.0, 65.0 + 36 * k) for k in nodes]
    for at in first:
        it.arrow(at, (514, 155), colour=BLUE, width=1.2)
    for at in second:
        it.arrow((606, 155), (at[0] - 9, at[1]), colour=BLUE, width=1.2)
    for at in (*first, *second):
        it.dot(at, colour=GREY)
    it.box(560, 155, 88, 52, "sum of ψ(z)\n2D numbers", colour=BLUE, size=12)
    return it


def batches() -> Drawing:
    """Seeds, their neighbours, and the rest of the graph, which a step does not read."""
    it = Drawing(760, 290, "A batch: seeds have terms in the loss, their neighbours are positives, the rest is not read")
    seeds = [(150.0, 90.0), (330.0, 70.0), (250.0, 200.0)]
    near = {
        0: [(80.0, 50.0), (70.0, 140.0), (180.0, 160.0)],
        1: [(270.0, 40.0), (400.0, 60.0), (390.0, 130.0)],
        2: [(190.0, 240.0), (310.0, 250.0)],
    }
    far = [(40.0, 220.0), (110.0, 255.0), (450.0, 200.0), (470.0, 100.0), (400.0, 230.0), (30.0, 90.0)]
    for a, b in (
        (near[0][1], far[0]),
        (far[0], far[1]),
        (near[1][2], far[2]),
        (far[2], far[4]),
        (near[1][1], far[3]),
        (near[0][0], far[5]),
        (near[2][1], far[4]),
    ):
        it.line(a, b, dashed=True)
    for place, seed in enumerate(seeds):
        for at in near[place]:
            it.line(seed, at, colour=BLUE, width=2)
    for place, first in enumerate(seeds):
        for second in seeds[place + 1 :]:
            it.line(first, second, colour=ORANGE, width=1.2, dashed=True)
    for at in far:
        it.dot(at, colour=PALE)
    for places in near.values():
        for at in places:
            it.dot(at, colour=BLUE)
    for at in seeds:
        it.dot(at, radius=10, colour=ORANGE)
    for y, colour, words in (
        (70, ORANGE, "seeds: N random nodes a step;\nthey repel each other"),
        (150, BLUE, "K drawn neighbours of each seed:\npositives"),
        (225, PALE, "the rest is not read"),
    ):
        it.dot((520, y), radius=8, colour=colour)
        it.text(540, y, words, size=12, anchor="start")
    return it


def new_nodes() -> Drawing:
    """A new node, the nodes whose embeddings it changes, and those that have to be read for it."""
    it = Drawing(760, 280, "A new node changes the embeddings of nodes within K steps; those and K steps more are read")
    centre = (230.0, 140.0)
    it.ring(centre, 62, colour=BLUE, dashed=True)
    it.ring(centre, 118, colour=FAINT, dashed=True)
    inner = [_around(centre, 48, angle) for angle in (30, 150, 265)]
    outer = [_around(centre, 95, angle) for angle in (0, 60, 120, 180, 235, 300)]
    rest = [(40.0, 50.0), (50.0, 235.0), (420.0, 60.0), (415.0, 230.0)]
    for at in inner:
        it.line(centre, at, colour=ORANGE, width=2)
    for place, at in enumerate(outer):
        it.line(at, inner[(0, 0, 1, 1, 2, 2)[place]])
    for place, at in enumerate(rest):
        it.line(at, outer[(2, 4, 1, 5)[place]], dashed=True)
    for places, colour in ((rest, PALE), (outer, GREY), (inner, BLUE)):
        for at in places:
            it.dot(at, colour=colour)
    it.dot(centre, radius=10, colour=ORANGE)
    for y, colour, words in (
        (70, ORANGE, "new node"),
        (120, BLUE, "its embedding changes: within K steps"),
        (170, GREY, "read, but not changed: K steps more"),
        (220, PALE, "not read"),
    ):
        it.dot((480, y), radius=8, colour=colour)
        it.text(500, y, words, size=12, anchor="start")
    return it


def views() -> Drawing:
    """What the families of methods compare."""
    it = Drawing(820, 250, "What attracts what: neighbours, two views of a node, or a node and a summary")
    for left, name in (
        (140, "neighbours\nlocal-gcl, sugrl"),
        (410, "two views of a node\ngrace, gca, bgrl, cca-ssg"),
        (680, "a node and a summary\ndgi, mvgrl"),
    ):
        it.text(left, 215, name, size=12)
    spots = [(0.0, -55.0), (-60.0, 20.0), (55.0, 30.0)]
    for a, b in ((0, 1), (0, 2)):
        it.line((140 + spots[a][0], 110 + spots[a][1]), (140 + spots[b][0], 110 + spots[b][1]), colour=BLUE, width=3)
    for x, y in spots:
        it.dot((140 + x, 110 + y), radius=10, colour=ORANGE if y < -50 else BLUE)
    for left in (345, 475):
        it.ring((left, 105), 55, dashed=True)
        for x, y in spots:
            it.dot((left + x / 2, 110 + y / 2), radius=8, colour=ORANGE if y < -50 else GREY)
    it.line((345, 82), (475, 82), colour=BLUE, width=3)
    it.ring((630, 105), 60, dashed=True)
    for x, y in spots:
        it.dot((630 + x / 1.8, 110 + y / 1.8), radius=8, colour=ORANGE if y < -50 else GREY)
    it.box(755, 105, 90, 44, "summary", colour=SKY)
    it.line((638, 80), (708, 100), colour=BLUE, width=3)
    return it

"""Diagrams of boxes and arrows: what flows where."""

from benchmarks.pictures.drawing import AMBER, BLUE, FAINT, GREEN, GREY, ORANGE, PINK, Drawing


def flow() -> Drawing:
    """From files to a report, with the command of each step."""
    it = Drawing(820, 250, "From files to embeddings, scores and a report")
    it.box(80, 60, 120, 46, "edges.csv", colour=GREY)
    it.box(80, 118, 120, 46, "features.csv", colour=GREY)
    it.box(80, 190, 120, 46, "labels.csv", colour=GREY)
    it.text(80, 226, "only for scores", size=11, colour=FAINT)
    it.box(260, 90, 120, 70, "Graph\nnodes, edges, x", colour=BLUE)
    for y in (60, 118):
        it.arrow((142, y), (196, 90))
    it.box(450, 90, 130, 70, "training\nno labels", colour=ORANGE)
    it.arrow((322, 90), (382, 90))
    it.box(690, 90, 170, 100, "run folder\nsettings, weights,\nlog, embeddings", colour=GREEN)
    it.arrow((517, 90), (602, 90))
    it.text(560, 74, "train", size=12, colour=ORANGE)
    it.text(350, 74, "read", size=12, colour=BLUE)
    for x, words in ((500, "scores"), (630, "report"), (754, "embeddings\nof new nodes")):
        it.box(x, 208, 112, 48, words, colour=PINK, size=12)
        it.arrow((690 + (x - 630) / 3, 142), (x, 182))
    it.arrow((142, 195), (442, 208), colour=FAINT, dashed=True)
    return it


def tables() -> Drawing:
    """How rows of tables become nodes, edges, features and labels of a graph."""
    it = Drawing(820, 290, "Three tables and the graph that they make: edges by two columns of ids, features and labels by one")
    tables = (
        (40, "edges", ("source", "target", "weight"), (("a", "b", "1"), ("b", "c", "2")), BLUE),
        (140, "features", ("id", "f1", "f2"), (("a", "0.3", "1"), ("b", "0.1", "0"), ("c", "0.9", "1")), GREEN),
        (245, "labels", ("id", "label"), (("a", "red"), ("c", "blue")), ORANGE),
    )
    for y, title, header, rows, colour in tables:
        it.text(48, y, title, size=13, colour=colour)
        for row, cells in enumerate((header, *rows)):
            for column, words in enumerate(cells):
                it.text(130 + 66 * column, y - 18 + 20 * row, words, size=12, colour=FAINT if row == 0 else colour)
        it.arrow((330, y), (420, 145), colour=colour)
    it.box(520, 145, 180, 110, "Graph\nnodes a, b, c\nedges a-b, b-c\nweights 1 and 2", colour=GREY, size=13)
    it.arrow((612, 145), (676, 145))
    it.box(745, 145, 130, 90, "one row\nof numbers\nfor each node", colour=PINK, size=13)
    it.text(644, 128, "train", size=12, colour=ORANGE)
    it.text(520, 226, "b has no label: that is allowed", size=12, colour=FAINT)
    return it


def channels() -> Drawing:
    """Each channel reads the features after some steps over the graph; unit rows side by side are the embedding."""
    it = Drawing(820, 300, "Channels: features after some steps over the graph, each with a network and a loss of its own")
    for x, words in (
        (125, "features, averaged once"),
        (385, "a network each"),
        (570, "embedding: unit rows side by side"),
        (755, "a loss each"),
    ):
        it.text(x, 28, words, size=12)
    rows = (
        ("X", "the node itself", BLUE),
        ("S X", "one step", GREEN),
        ("S² X", "two steps", ORANGE),
        ("B X", "one step, not itself", PINK),
    )
    for place, (name, about, colour) in enumerate(rows):
        y = 76 + 58 * place
        it.box(70, y, 90, 42, name, colour=colour, size=14)
        it.text(185, y, about, size=12)
        it.arrow((258, y), (326, y))
        it.box(385, y, 110, 42, "x W + b", colour=colour)
        it.arrow((444, y), (502, y))
        it.box(570, y, 128, 56, f"z {place + 1} / length", colour=colour, size=12)
        it.arrow((638, y), (702, y))
        it.box(755, y, 98, 42, f"loss {place + 1}", colour=GREY)
    return it


def ranks() -> Drawing:
    """Ranks read the shared folder, and sum two short messages a step."""
    it = Drawing(800, 300, "Processes read one graph folder, each its share of a batch, and sum two messages a step")
    it.box(400, 45, 520, 54, "graph folder on a shared disk: edges, features, rows of channels", colour=GREEN)
    for place in range(4):
        x = 130 + 180 * place
        it.box(x, 165, 140, 62, f"rank {place}\na quarter of the batch", colour=BLUE, size=12)
        it.arrow((x, 76), (x, 130), colour=GREEN)
        it.arrow((x, 200), (x, 238), colour=ORANGE)
    it.text(400, 112, "rows that it needs", size=12, colour=GREEN)
    it.box(400, 264, 680, 44, "sums over ranks: 2D numbers of the negative term, one message of gradients", colour=ORANGE)
    return it


def splits() -> Drawing:
    """Which nodes are used for what when embeddings are scored."""
    it = Drawing(
        800, 230, "A probe is trained on training nodes, its settings are picked on validation nodes, test nodes are read once"
    )
    it.box(110, 115, 150, 150, "frozen\nembeddings\nof all nodes", colour=GREEN)
    for y, words, colour in ((50, "training nodes", BLUE), (115, "validation nodes", AMBER), (180, "test nodes", PINK)):
        it.box(310, y, 150, 44, words, colour=colour)
        it.arrow((188, 115 + (y - 115) / 2), (232, y))
    it.box(510, 50, 150, 50, "linear classifiers,\none a setting", colour=BLUE, size=12)
    it.arrow((388, 50), (432, 50))
    it.box(510, 130, 150, 50, "the best setting", colour=AMBER, size=12)
    it.arrow((388, 115), (432, 127))
    it.arrow((510, 77), (510, 102))
    it.box(710, 165, 130, 56, "score,\nread once", colour=PINK, size=12)
    it.arrow((388, 180), (642, 172))
    it.arrow((588, 135), (642, 155))
    return it


def search() -> Drawing:
    """The loop of a search."""
    it = Drawing(
        800, 190, "A search: settings, training without labels, accuracy on validation nodes, the best becomes a recipe"
    )
    it.chain(
        70,
        [
            (95, 130, "settings\nof a trial", AMBER),
            (285, 150, "training\nno labels, S seeds", ORANGE),
            (490, 160, "accuracy on\nvalidation nodes", BLUE),
            (695, 150, "recipe.toml:\nthe best trial", GREEN),
        ],
    )
    it.line((490, 101), (490, 145))
    it.line((490, 145), (95, 145))
    it.arrow((95, 145), (95, 104))
    it.text(290, 162, "trials.csv: every trial; the next one depends on it", size=12)
    return it


def pages() -> Drawing:
    """How a number gets onto a page."""
    it = Drawing(800, 190, "From a recipe to a page: no number is typed by hand")
    it.chain(
        70,
        [
            (95, 140, "recipe,\ncommitted", AMBER),
            (285, 150, "python -m paper\ntrains and scores", ORANGE),
            (490, 160, "results.csv and\nledger.csv", GREEN),
            (695, 150, "tables, figures,\npages", BLUE),
        ],
    )
    it.text(490, 135, "a row has settings, seed, hardware, date, commit", size=12)
    it.line((490, 101), (490, 122), dashed=True)
    return it

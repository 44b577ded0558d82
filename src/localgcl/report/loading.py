"""How to go on from a run: code to copy."""

import shlex

from localgcl.report.reading import Subject
from localgcl.system.text import shown


def how_to_load(subject: Subject) -> dict[str, str]:
    """Code that loads the embeddings of a run, by tool."""
    path = shown(subject.run.path)
    node = shown(subject.part.node_ids[0])
    return {
        "Python": (
            f"import localgcl as lg\nfrom localgcl.training import RunFolder\n\nrun = RunFolder.open({path!r})\n"
            f"graph = {'run.graph_source.read()' if subject.run.source else '...  # the graph that you trained on'}\n"
            "z = lg.Embedder.load(run.path).transform(graph)  # row i is node graph.node_ids[i]\nnear = lg.nearest(z, 10)"
        ),
        "pandas": (
            f"import pandas as pd\n\n# localgcl embed {shlex.quote(path)} -o z.parquet\n"
            'z = pd.read_parquet("z.parquet").set_index("id")'
        ),
        "command line": (
            f"localgcl embed {shlex.quote(path)} -o z.parquet\nlocalgcl similar {shlex.quote(path)} {shlex.quote(node)}\n"
            f"localgcl cluster {shlex.quote(path)} -o clusters.csv"
        ),
    }

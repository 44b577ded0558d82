"""From tables of any size to a graph folder, in bounded memory: `localgcl convert`.

inputs.py finds the files, streams.py reads them in batches, work.py keeps what is done, and one module a stage writes arrays:
nodes.py, edges.py, labels.py. engine.py holds DuckDB, which joins ids and sorts edges. convert.py runs the stages.
"""

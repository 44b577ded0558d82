"""From tables of any size to a graph folder, in bounded memory: `localgcl convert`.

convert.py runs the stages, which write arrays: nodes.py, edges.py, structural.py. inputs.py finds the files; streams.py reads
them in batches, which rows.py understands; engine.py holds DuckDB, which joins ids and sorts edges; and work.py
holds what stages share and records those that are done.
"""

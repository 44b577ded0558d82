"""From tables of any size to a graph folder, in bounded memory: `localgcl convert`.

convert.py runs the stages; each has a module that writes its arrays: nodes.py, edges.py, structural.py, labels.py. inputs.py
finds the files, streams.py reads them in batches, engine.py holds DuckDB, which joins ids and sorts edges, and work.py holds
what stages share and records those that are done.
"""

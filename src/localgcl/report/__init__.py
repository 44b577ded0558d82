"""One self-contained HTML page for a run: what was trained, how well it did, and a map of the embeddings to explore."""

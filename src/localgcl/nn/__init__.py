"""What maps features to embeddings, and what is done to the graph or the embeddings on the way."""

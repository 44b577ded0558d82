"""Training and embedding on a Ray cluster (extra `ray`). The work is that of ranks; Ray starts them, and starts them again."""

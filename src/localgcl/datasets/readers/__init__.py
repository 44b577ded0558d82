"""One reader a published format."""

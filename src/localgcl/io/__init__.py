"""Types of other libraries and files: they become a Graph here, and leave from here."""

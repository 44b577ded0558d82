"""Every foreign type and file enters and leaves here."""

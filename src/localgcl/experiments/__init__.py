"""Searches, measurements and reproductions: everything that trains many times."""

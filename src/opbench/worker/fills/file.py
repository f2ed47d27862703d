"""Fills of the file kind."""

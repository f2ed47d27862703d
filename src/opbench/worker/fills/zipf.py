"""Fills of the zipf kind."""

"""Fills of the rows kind."""

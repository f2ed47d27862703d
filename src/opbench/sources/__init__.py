"""Where cases come from: each source turns its input into an iterator of cases."""

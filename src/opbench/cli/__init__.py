"""The command line: a file per verb; the only place that prints or exits."""

"""Short scripts that measure something and say what to read off: `python -m opbench.examples` lists them."""

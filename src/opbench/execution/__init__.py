"""Where and when workers run: planning, core slots, time-outs, retries, resume."""

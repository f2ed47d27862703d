"""What runs inside the measured process: the standard library and the framework under test only."""

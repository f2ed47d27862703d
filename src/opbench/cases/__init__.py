"""What is measured: pure data, checked, content-addressed. No framework import anywhere in here."""

"""How a callable is measured."""

"""How a case becomes something callable."""

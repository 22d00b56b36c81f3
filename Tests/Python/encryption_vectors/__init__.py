"""The vectors of the formats of encryption: makes them, and checks a file of them; see `__main__`."""

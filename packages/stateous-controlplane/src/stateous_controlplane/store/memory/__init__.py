"""A store in memory, for tests and simulation: plain dicts, looked through from end to end.

It says the same as the SQLite store, only slower and more plainly.
"""

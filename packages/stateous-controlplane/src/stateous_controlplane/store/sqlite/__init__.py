"""The SQLite store: one file, one writer connection, reads on their own (`wire.md` 5.2)."""

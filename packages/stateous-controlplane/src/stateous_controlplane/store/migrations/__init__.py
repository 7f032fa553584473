"""One Alembic history of the tables, for both databases (`docs/spec/wire.md` 5.4).

`python -m stateous_controlplane.store.migrations` reads a database URL from standard input and
brings that database to the newest version. Exit code 0; or 1 with one sentence on stderr, and the
database as it was.
"""

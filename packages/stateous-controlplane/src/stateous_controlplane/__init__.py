"""The control plane: a pure engine, a writer that commits in batches, stores, and an HTTP API."""

"""The HTTP API (`docs/spec/wire.md` 1 and 2): bytes to commands, answers to bytes."""

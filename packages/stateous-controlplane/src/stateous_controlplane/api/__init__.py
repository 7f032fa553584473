"""The HTTP API: requests become commands, replies become answers (`docs/spec/wire.md` 1, 2)."""

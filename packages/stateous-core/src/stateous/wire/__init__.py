"""What goes over the wire: the codes of refusals, and the names of headers (`docs/spec/wire.md`)."""

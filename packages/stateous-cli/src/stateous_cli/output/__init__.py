"""Values as text: pure functions, no terminal, no clock, no client."""

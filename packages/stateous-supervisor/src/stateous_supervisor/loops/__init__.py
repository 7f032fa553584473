"""The loops of a supervisor, each one duty: claims, heartbeats, deliveries."""

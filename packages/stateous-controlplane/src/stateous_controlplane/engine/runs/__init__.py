"""Runs of charts: how events are offered to the active states, and what follows from one."""

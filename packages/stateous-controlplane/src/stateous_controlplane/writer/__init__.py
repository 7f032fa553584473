"""The writer: commands are collected, decided in order, committed once, then answered."""

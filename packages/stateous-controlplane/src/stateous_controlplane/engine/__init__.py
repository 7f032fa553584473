"""The engine: commands in, replies and effects out. Nothing here does I/O, reads a clock or logs.

``decide`` is a function of the frozen machine, a family's rows, one command and its time. What it
changes it returns as effects; the rows that it was given stay as they were.
"""

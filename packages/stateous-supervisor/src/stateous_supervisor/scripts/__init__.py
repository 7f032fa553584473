"""Script jobs: each in a process of its own that can do nothing but compute and answer.

The runner's side is :mod:`pool`, :mod:`answers` and :mod:`jobs`. The other modules are loaded in the
fork server and its children only; they import nothing but the standard library and one another
(`docs/adr/0010-scripts-in-processes.md`).
"""

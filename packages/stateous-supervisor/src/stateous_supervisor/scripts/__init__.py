"""Script jobs: each in a process of its own that can do nothing but compute and answer.

The runner's side is :mod:`processes`, :mod:`answers` and :mod:`jobs`. The other modules are loaded in
the fork server and its children; they import the standard library, one another, and the one module of
core that knows what a script's text is (`docs/adr/0009-scripts-in-processes.md`).
"""

"""The commands as Typer knows them: arguments, options and help. What they do is in ``actions``.

An action, and with it every other part of Stateous, is imported when its command runs.
"""

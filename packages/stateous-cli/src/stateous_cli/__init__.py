"""The `stateous` command (`docs/spec/authoring.md` 9, `docs/spec/wire.md` 8).

``commands`` holds what Typer needs to know: arguments, options, help. ``actions`` does the work and
returns an :class:`~stateous_cli.answer.Answer`. ``output`` turns values into text, and knows nothing
of either. ``shell`` stands between an action and the terminal.
"""

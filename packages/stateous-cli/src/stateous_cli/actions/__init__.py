"""What the commands do: plain functions that return an :class:`~stateous_cli.answer.Answer`.

They raise a StateousError for what is to be expected, and print nothing.
"""

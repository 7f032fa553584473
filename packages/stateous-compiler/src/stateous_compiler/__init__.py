"""Checks a ``flow.py`` and writes its graph document, contract and stubs.

The doors are :func:`stateous_compiler.compile.compile_flow` and, for ``stateous init``,
:func:`stateous_compiler.scaffold.init_workflow` and :func:`~stateous_compiler.scaffold.init_supervisor`.
Their failures are :class:`stateous_compiler.errors.CompileError` and its subclasses.
"""

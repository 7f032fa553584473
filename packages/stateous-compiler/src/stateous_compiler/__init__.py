"""Checks a ``flow.py`` or a chart in YAML, and writes its graph document, contract and stubs.

The doors are :func:`stateous_compiler.compile.compile_flow`,
:func:`stateous_compiler.statechart.compile.compile_chart` and, for ``stateous init``,
:func:`stateous_compiler.scaffold.init_workflow` and :func:`~stateous_compiler.scaffold.init_supervisor`.
Their failures are :class:`stateous_compiler.errors.CompileError` and its subclasses.
"""

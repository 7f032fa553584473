"""From ``chart.yaml``, and every file that it names, to the graph document of a statechart.

The door is :func:`stateous_compiler.statechart.compile.compile_chart`. Nothing here needs z3.
"""

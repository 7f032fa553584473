"""The graph document, its checks and hashes, and the machine that the engine runs.

What other packages use stands in its modules: :func:`stateous.graph.reading.read_graph`,
:class:`stateous.graph.document.GraphDocument` and :func:`stateous.graph.schemas.compile_schemas`.
"""

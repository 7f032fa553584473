"""Proofs about guards: can they be true together, or all be false (`docs/spec/authoring.md` 4).

:func:`stateous_compiler.exclusive.decide.decide` answers a question. What it stands on: values that
exist only as unknowns (`terms`, `texts`), schemas and guards as formulas over them (`admission`,
`encoding`), a solver's model back as JSON (`readback`, `composing`), and the loop of proposing and
confirming (`search`). Only `logic` touches z3.
"""

"""The pure protocol below both clients: no sockets, no clock, no sleep.

A method becomes a :class:`~stateous_client.protocol.exchange.Request`; its
:class:`~stateous_client.protocol.exchange.Answer` becomes a value or an error. What takes more than
one request (retries, pages, waiting) is a *course*: a generator that yields what to do next and is
sent what came of it. A shell only performs the steps.

==============  ===============================================================
``address``     the URL of a control plane, checked
``arguments``   what callers hand in, checked and written as JSON or path
``exchange``    requests and answers as values
``answers``     an answer's bytes to a value
``calls``       one request for each method
``courses``     the steps that a shell performs, and the schedule of retries
``dialogue``    retries, pages, waiting and watching as courses
==============  ===============================================================
"""

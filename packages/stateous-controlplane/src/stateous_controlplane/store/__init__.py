"""Where rows are kept: one port, and the stores behind it."""

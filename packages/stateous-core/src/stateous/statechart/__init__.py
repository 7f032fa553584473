"""Statecharts: the language of charts, and what a chart is once it is read."""

"""Claims tasks from a control plane, runs their routines and reports what happened."""

"""The benchmark: a real control plane, driven over HTTP, beside a calibration of the machine.

`python -m bench` from the root of the repository; `bench/README.md` says more.
"""

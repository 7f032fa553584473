"""The workloads: what the control plane is asked to do while the clocks run."""

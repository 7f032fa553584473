"""What the testing kit says when a package that it needs is not installed."""

from __future__ import annotations

from importlib.util import find_spec


def require(*packages: str) -> None:
    """Look for ``packages`` without importing them.

    Raises:
        ModuleNotFoundError: some are missing; the sentence says what to install.
    """
    missing = [package for package in packages if find_spec(package) is None]
    if not missing:
        return
    distributions = " and ".join(package.replace("_", "-") for package in missing)
    verb = "is" if len(missing) == 1 else "are"
    # Files, not names: those are on no registry, and what has them there is not ours.
    wheels = " ".join(f"dist/{package}-*.whl" for package in missing)
    raise ModuleNotFoundError(
        f"stateous_cli.testing needs {distributions} (the extra stateous-cli[dev]), which {verb} "
        f"not installed: build the wheels with `make wheels`, then run: pip install {wheels}",
        name=missing[0],
    )

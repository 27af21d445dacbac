# SPDX-License-Identifier: GPL-2.0-only
"""Ends a script in one line, with status 2, if the Python that runs it lacks a module."""
import importlib.util
import pathlib
import sys


def require(*modules: str) -> None:
    """To be called before the modules, or what uses them, are imported."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            print(f"{pathlib.Path(sys.argv[0]).name}: {sys.executable} has no module '{module}'; expected a Python "
                  f"that has it, such as /usr/bin/python3 with the package python3-{module}", file=sys.stderr)
            sys.exit(2)

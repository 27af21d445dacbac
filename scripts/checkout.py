# SPDX-License-Identifier: GPL-2.0-only
"""Lets a script of this checkout import the package `clustersim` of the same checkout."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))

from clustersim.required_modules import require as require_modules  # noqa: E402, F401

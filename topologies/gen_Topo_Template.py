#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs clustersim.commands.topology of this checkout; --help says what it does."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))

from clustersim.commands import topology  # noqa: E402

if __name__ == "__main__":
    topology.run()

#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs clustersim.commands.compare_fabrics of this checkout; --help says what it does."""
import checkout  # noqa: F401

from clustersim.commands import compare_fabrics

if __name__ == "__main__":
    compare_fabrics.run()

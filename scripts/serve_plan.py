#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs clustersim.commands.serve_plan of this checkout; --help says what it does."""
import checkout  # noqa: F401

from clustersim.commands import serve_plan

if __name__ == "__main__":
    serve_plan.run()

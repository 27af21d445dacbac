#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs clustersim.commands.rl_step of this checkout; --help says what it does."""
import checkout  # noqa: F401

from clustersim.commands import rl_step

if __name__ == "__main__":
    rl_step.run()

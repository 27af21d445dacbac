#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs clustersim_lab.rl_steps.command of this checkout; --help says what it does."""
from clustersim_lab.rl_steps import command

if __name__ == "__main__":
    command.run()

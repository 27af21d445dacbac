#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs clustersim.commands.hpcc.against_hpcc of this checkout; --help says what it does."""
import checkout  # noqa: F401

from clustersim.commands.hpcc import against_hpcc

if __name__ == "__main__":
    against_hpcc.run()

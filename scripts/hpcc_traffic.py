#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs clustersim.commands.hpcc_traffic of this checkout; --help says what it does."""
import checkout  # noqa: F401

from clustersim.commands import hpcc_traffic

if __name__ == "__main__":
    hpcc_traffic.run()

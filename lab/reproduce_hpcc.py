#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs clustersim_lab.hpcc.reproduce_hpcc of this checkout; --help says what it does."""
from clustersim_lab.hpcc import reproduce_hpcc

if __name__ == "__main__":
    reproduce_hpcc.run()

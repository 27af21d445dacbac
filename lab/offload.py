#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs clustersim_lab.comparisons.offload of this checkout; --help says what it does."""
from clustersim_lab.comparisons import offload

if __name__ == "__main__":
    offload.run()

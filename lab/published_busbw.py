#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs clustersim_lab.comparisons.published_busbw of this checkout; --help says what it does."""
from clustersim_lab.comparisons import published_busbw

if __name__ == "__main__":
    published_busbw.run()

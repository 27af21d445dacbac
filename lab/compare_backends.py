#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs clustersim_lab.comparisons.compare_backends of this checkout; --help says what it does."""
from clustersim_lab.comparisons import compare_backends

if __name__ == "__main__":
    compare_backends.run()

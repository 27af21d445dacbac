#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs clustersim_lab.comparisons.against_simai of this checkout; --help says what it does."""
from clustersim_lab.comparisons import against_simai

if __name__ == "__main__":
    against_simai.run()

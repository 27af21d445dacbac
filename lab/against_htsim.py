#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs clustersim_lab.htsim.against_htsim of this checkout; --help says what it does."""
from clustersim_lab.htsim import against_htsim

if __name__ == "__main__":
    against_htsim.run()

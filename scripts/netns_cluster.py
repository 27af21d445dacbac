#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs clustersim.commands.netns_cluster of this checkout; --help says what it does."""
import checkout  # noqa: F401

from clustersim.commands import netns_cluster

if __name__ == "__main__":
    netns_cluster.run()

#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs clustersim.commands.validation.scenarios of this checkout; --help says what it does."""
import checkout  # noqa: F401

from clustersim.commands.validation import scenarios

if __name__ == "__main__":
    scenarios.run()

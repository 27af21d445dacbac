#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs clustersim.commands.validation.validate of this checkout; --help says what it does."""
import checkout  # noqa: F401

from clustersim.commands.validation import validate

if __name__ == "__main__":
    validate.run()

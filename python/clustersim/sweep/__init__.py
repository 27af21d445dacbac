# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps: a grid of inputs, the runs it makes, and one table of their results."""

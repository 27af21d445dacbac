# SPDX-License-Identifier: GPL-2.0-only
"""Reads a model from the configuration file that its publisher ships."""

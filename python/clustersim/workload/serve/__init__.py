# SPDX-License-Identifier: GPL-2.0-only
"""Instances that serve requests: rows of a step, the cache, and measured times, as an INFERENCE file."""

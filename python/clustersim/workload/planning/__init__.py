# SPDX-License-Identifier: GPL-2.0-only
"""Finds the fastest plans, and carries them out on a topology, with a reader's own layout beside them."""

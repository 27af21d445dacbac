# SPDX-License-Identifier: GPL-2.0-only
"""Keys of an INFERENCE file, as flags: their values, and the names of the simulator's policies."""

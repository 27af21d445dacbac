# SPDX-License-Identifier: GPL-2.0-only
"""How much longer collectives take as groups share the links between switches."""

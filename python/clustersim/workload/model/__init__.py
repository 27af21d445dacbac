# SPDX-License-Identifier: GPL-2.0-only
"""Models: their layers, parameters and operators, and a catalogue of published ones."""

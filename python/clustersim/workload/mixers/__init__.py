# SPDX-License-Identifier: GPL-2.0-only
"""Attention and other mixers of a layer's tokens, each in a file of its own: one that is added here is found by its
name, and no other file names it."""

# SPDX-License-Identifier: GPL-2.0-only
"""Writes a training iteration: SimAI's text, Chakra's traces, AICB's rows, and launch arguments of frameworks."""

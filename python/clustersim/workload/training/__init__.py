# SPDX-License-Identifier: GPL-2.0-only
"""A training iteration: rows of computation and collectives for each pipeline stage, their order, and memory."""

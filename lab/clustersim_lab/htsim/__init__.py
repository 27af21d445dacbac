# SPDX-License-Identifier: GPL-2.0-only
"""htsim beside our simulator: the same connection matrices on the same fat trees."""

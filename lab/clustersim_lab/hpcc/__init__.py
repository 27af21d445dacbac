# SPDX-License-Identifier: GPL-2.0-only
"""HPCC: its simulator beside ours, and the comparison of its paper (SIGCOMM 2019)."""

# SPDX-License-Identifier: GPL-2.0-only
"""Commands about HPCC: its simulator beside ours, and the traffic and comparison of its paper (SIGCOMM 2019)."""

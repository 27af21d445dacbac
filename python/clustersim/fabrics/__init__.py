# SPDX-License-Identifier: GPL-2.0-only
"""Which fabric suits a job: candidates side by side, with their times, costs and fullest links."""

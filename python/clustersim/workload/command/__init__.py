# SPDX-License-Identifier: GPL-2.0-only
"""The command lines of scripts/workload.py and scripts/plan.py."""

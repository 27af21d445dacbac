# SPDX-License-Identifier: GPL-2.0-only
"""Results of scripts/workload.py and scripts/plan.py, and how they show themselves."""

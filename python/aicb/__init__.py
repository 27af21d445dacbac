# SPDX-License-Identifier: GPL-2.0-only
"""The name by which SimAI's users start AICB's generator of workloads: python3 -m aicb.main; scripts/workload.py is
behind it."""
import pathlib
import sys

sys.path.append(
    str(pathlib.Path(__file__).resolve().parent.parent)
)  # the package of this checkout, where it is not installed

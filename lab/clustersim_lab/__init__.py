# SPDX-License-Identifier: GPL-2.0-only
"""How the simulator is validated: against measurements, other simulators, closed forms and itself.

The commands of lab/ are thin over this package. It belongs to a checkout, with the measurements and pages of docs/, and
is never installed; it imports clustersim, and clustersim does not know it.
"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

sys.path.insert(0, str(ROOT / "python"))

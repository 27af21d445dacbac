# SPDX-License-Identifier: GPL-2.0-only
"""Commands that compare the simulator with closed forms, measurements, published results and itself."""

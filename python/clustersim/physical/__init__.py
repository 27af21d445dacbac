# SPDX-License-Identifier: GPL-2.0-only
"""Real traffic: starting SimAI_phynet, calibration of simulations."""

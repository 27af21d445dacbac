# SPDX-License-Identifier: GPL-2.0-only
"""Topologies, results, plots and sweeps of the cluster simulator: what the scripts are made of."""

# SPDX-License-Identifier: GPL-2.0-only
"""The commands of scripts/ and topologies/, which `pip install` makes programs named cluster-sim-NAME."""

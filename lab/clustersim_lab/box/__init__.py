# SPDX-License-Identifier: GPL-2.0-only
"""A cluster of network namespaces on one machine, and real traffic on it beside simulations."""

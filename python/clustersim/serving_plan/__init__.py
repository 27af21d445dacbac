# SPDX-License-Identifier: GPL-2.0-only
"""Deployments that serve a load within limits: estimated, ranked by cost, and the best simulated."""

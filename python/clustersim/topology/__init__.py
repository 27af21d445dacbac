# SPDX-License-Identifier: GPL-2.0-only
"""Topologies of GPU clusters: the file format, checks, descriptions, prices and drawings; generator/ has the
architectures."""

# SPDX-License-Identifier: GPL-2.0-only
"""Topologies of GPU clusters: architectures, the file format, checks, descriptions and drawings."""

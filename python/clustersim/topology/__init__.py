# SPDX-License-Identifier: GPL-2.0-only
"""Topologies of GPU clusters: the file format and its checks; layers/ describes them, generator/ has their
architectures."""

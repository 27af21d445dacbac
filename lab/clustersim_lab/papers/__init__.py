# SPDX-License-Identifier: GPL-2.0-only
"""Figures of papers on congestion control and transports, beside ours: one module a paper."""

# SPDX-License-Identifier: GPL-2.0-only
"""The HPCC simulator beside ours."""

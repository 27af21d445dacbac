# SPDX-License-Identifier: GPL-2.0-only
"""Times training iterations without a simulation."""

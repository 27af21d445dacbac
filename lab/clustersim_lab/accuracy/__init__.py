# SPDX-License-Identifier: GPL-2.0-only
"""Published measurements of collectives, the same machines simulated, and how far apart they are."""

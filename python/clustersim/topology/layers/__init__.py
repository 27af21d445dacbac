# SPDX-License-Identifier: GPL-2.0-only
"""A topology as layers of switches: described, drawn and priced."""

# SPDX-License-Identifier: GPL-2.0-only
"""Plans carried out on a topology, and a reader's own layout beside them."""

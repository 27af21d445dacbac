# SPDX-License-Identifier: GPL-2.0-only
"""Single comparisons: with closed forms, with tables of others, of one kind of network with another, and of offloads
with NCCL."""

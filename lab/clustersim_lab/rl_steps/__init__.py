# SPDX-License-Identifier: GPL-2.0-only
"""Step times of reinforcement learning that others published, and the same steps by scripts/rl_step.py."""

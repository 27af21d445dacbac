# SPDX-License-Identifier: GPL-2.0-only
"""A step of reinforcement learning (GRPO): rollouts, scores, training, and weights that move between layouts."""

# SPDX-License-Identifier: GPL-2.0-only
"""Reads the command line of Megatron-LM's pretrain_gpt.py."""

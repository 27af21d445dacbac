# SPDX-License-Identifier: GPL-2.0-only
"""Flags that several commands share: of models, operators' times and experts, with their parser."""

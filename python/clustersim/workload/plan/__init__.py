# SPDX-License-Identifier: GPL-2.0-only
"""How a model is spread over GPUs, in which types of numbers, and which bytes a framework keeps."""

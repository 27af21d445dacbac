# SPDX-License-Identifier: GPL-2.0-only
"""The generator of topology files: a file for each family of architectures, and its flags."""

# SPDX-License-Identifier: GPL-2.0-only
"""A reader for each file of a run, as a pandas DataFrame; Problems collect what is wrong with files."""

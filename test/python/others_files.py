# SPDX-License-Identifier: GPL-2.0-only
"""Where files of SimAI, ASTRA-sim and the HPCC simulator are, if they are there: the repository carries none of
them."""
import os
import pathlib

OTHERS_FILES = pathlib.Path(os.environ.get("OTHERS_FILES",
                                           pathlib.Path(__file__).resolve().parents[2] / "../shared/data")).resolve()

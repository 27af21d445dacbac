# SPDX-License-Identifier: GPL-2.0-only
"""The tables of servers in the documentation."""
import pandas as pd

from clustersim.rst import escape, list_table, percent
from clustersim_lab.outcomes.card import WITHIN
from clustersim_lab.servers import card

NAMES = {"ttft": "first token", "tpot": "further token", "rate": "tokens per second"}


def _ratio(value: float) -> str:
    return "" if pd.isna(value) else f"{value:.2f}"


def _length(prompt: object, output: object) -> str:
    return f"{prompt} / {output}".replace("uniform ", "").replace("uniform", "")


def tables(frame: pd.DataFrame) -> str:
    """@return the summaries and every row, as reStructuredText"""
    text = ".. Written by lab/servers.py --update; do not edit.\n\n"
    cells = [(each["group"], each["value"], NAMES[str(each["measure"])], each["rows"], f"{each['median']:.2f}",
              f"{each['least']:.2f} to {each['most']:.2f}", percent(float(str(each["within"]))),
              percent(float(str(each["within 20%"]))))
             for each in card.summaries(frame)]
    text += list_table(("group", "", "measure", "rows", "median", "range", f"within {percent(WITHIN)}", "within 20 %"),
                       cells, (14, 16, 20, 8, 10, 16, 14, 14))
    rows = [(escape(f"{row['engine']}, {row['model']}, {row['gpus']} {row['gpu']}, {row['dtype']}, TP {row['tp']}, EP "
                    f"{row['ep']}"), row["users"] or f"{row['requests']} at once",
             _length(row["prompt"], row["output"]), row["standing"],
             *(_ratio(row[f"{measure}_ratio"]) for measure in NAMES)) for _, row in frame.iterrows()]
    return text + list_table(("server", "users", "prompt / output", "constants", *NAMES.values()), rows,
                             (36, 12, 16, 10, 9, 9, 9))

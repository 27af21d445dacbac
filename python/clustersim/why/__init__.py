# SPDX-License-Identifier: GPL-2.0-only
"""Why an iteration takes as long as it does: its critical path, and what would shorten it.

`records` reads what a run wrote, `path` walks back from its end, `machine` knows what a collective was carried by,
`what_if` works out changes on the path and confirms them by runs, and `explanation` is the whole answer.
"""

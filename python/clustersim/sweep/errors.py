# SPDX-License-Identifier: GPL-2.0-only
"""The one exception for a user's mistake: its text is the whole message."""


class InputError(Exception):
    """`file:line: what is wrong; expected what`"""

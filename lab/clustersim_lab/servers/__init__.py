# SPDX-License-Identifier: GPL-2.0-only
"""Times and rates that others published of servers, and the same servers simulated with the profile of their engine.

A published row (`rows`) becomes flags of workload.py --inference and a topology; `card` simulates and compares, `page`
writes the tables of the documentation.
"""

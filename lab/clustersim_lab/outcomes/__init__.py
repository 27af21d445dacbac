# SPDX-License-Identifier: GPL-2.0-only
"""Step times that others published of training runs, the same runs estimated, and how far apart they are.

A published row (`facts`) becomes a model, a plan, a GPU, a machine and a framework (`runs`), and these a step time with
the shares of what it goes into (`clustersim.workload.estimate.estimate`). `card` compares, `page` and `plots` write the
page.
"""

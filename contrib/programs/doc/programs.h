/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @defgroup programs programs: the frame of all programs
 * @brief Command line, limits, signals, results in run.json; and qbb-flows. Needs rdma-qbb only.
 */

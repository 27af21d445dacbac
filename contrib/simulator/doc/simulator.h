/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @defgroup simulator simulator: the application behind the programs
 * @brief Options, inputs, back ends, jobs, records and runs.
 */

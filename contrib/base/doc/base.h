/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @defgroup base base: errors, units, lines and files
 * @brief The ground floor of all modules: it knows neither ns-3 nor a network.
 */

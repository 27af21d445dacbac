/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @defgroup astra-frontend astra-frontend: collectives and workloads
 * @brief From a training job to messages: workloads, the system layer, collectives, and networks of
 * packets, flows, formulas or real traffic.
 */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @defgroup astra-frontend astra-frontend: workloads and networks
 * @brief From a training job to messages: workloads, the system layer, and networks of
 * packets, flows, formulas or real traffic.
 */

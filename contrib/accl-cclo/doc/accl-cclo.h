/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @defgroup accl-cclo accl-cclo: collective offload engines
 * @brief ACCL's engine in the NIC, down to its registers.
 */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @defgroup rdma-qbb rdma-qbb: RoCEv2 fabrics
 * @brief Hosts with RDMA NICs, switches with shared buffers, PFC and ECN, NVSwitches, congestion
 * control, loss recovery, routing, monitors and checks.
 */

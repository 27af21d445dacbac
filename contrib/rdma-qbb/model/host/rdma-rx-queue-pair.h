/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_RX_QUEUE_PAIR_H
#define RDMA_RX_QUEUE_PAIR_H

#include "rdma-queue-pair.h"

#include <cstdint>
#include <memory>

namespace ns3
{

class QbbWire;

/**
 * @brief Receiver side of an RDMA connection.
 *
 * Knows its sender as connection set-up would have told it: which messages to expect and whether
 * marks are answered by CNP frames.
 */
struct alignas(64) RdmaRxQueuePair
{
    // --- what a data frame in order touches: one cache line
    RdmaQueuePair* sender{nullptr}; ///< other side of the connection
    uint32_t qpn{0};                ///< number at this host
    uint32_t senderQpn{0};          ///< number of the other side, at its host
    uint64_t expectedSeq{0};        ///< next byte in order
    uint64_t unacknowledged{0};     ///< bytes received in order since the last acknowledgement
    QbbWire* wire{nullptr};         ///< what its frames come by, if they may arrive quietly
    uint64_t wireSeq{0};            ///< expectedSeq when all that is on the wire has arrived
    uint32_t wireUnacknowledged{0}; ///< the same of unacknowledged
    bool lossless{false};           ///< on NVLink, as the sender
    std::unique_ptr<RdmaRecoveryState> recovery; ///< owned by the loss recovery

    // --- the rest
    RdmaHw* hw{nullptr};            ///< the host it is at
    uint64_t nackedSeq{UINT64_MAX}; ///< expectedSeq of the last NACK
    int64_t nackPs{0};              ///< when it was sent
    int64_t cnpPs{INT64_MIN / 2};   ///< when the last CNP frame was sent
    uint64_t namedSeq{0};           ///< where the frame begins that a selective NACK names
};

} // namespace ns3

#endif /* RDMA_RX_QUEUE_PAIR_H */

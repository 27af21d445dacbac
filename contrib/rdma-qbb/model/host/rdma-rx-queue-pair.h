/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_RX_QUEUE_PAIR_H
#define RDMA_RX_QUEUE_PAIR_H

#include "rdma-message-wire.h"

#include "ns3/rdma-loss-recovery.h"
#include "ns3/rdma-transport.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace ns3
{

class RdmaHw;

/// The sender, as it tells the other host when a connection is set up.
struct RdmaPeer
{
    uint32_t host{0}; ///< its host index
    uint32_t qpn{0};  ///< number of its queue pair
    uint32_t hash{0}; ///< of the 5-tuple of its frames; worked out by the other host
    uint16_t sport{0};
    uint16_t dport{0};
    uint16_t mtu{0}; ///< payload bytes of a full frame
    uint8_t priority{0};
    bool lossless{false};    ///< on NVLink
    int64_t baseRttPs{0};    ///< of a full frame and its ACK on the idle path
    int64_t spreadPs{0};     ///< most that a frame may be overtaken by on idle paths
    uint64_t flightBytes{0}; ///< bytes in flight that fill its paths; 0 if not known
};

/// Answer of the receiving host to a connection request.
struct RdmaAcceptance
{
    uint32_t host{0};                   ///< its host index
    uint32_t qpn{0};                    ///< number of the receiving side
    RdmaMessageWire* messages{nullptr}; ///< takes announcements of messages; divides the bytes
};

/**
 * @ingroup rdma-qbb
 * @brief Receiver side of an RDMA connection.
 *
 * Knows its sender as connection set-up has told it (RdmaPeer) and as frames tell: which bytes are
 * there, and where messages end.
 */
struct alignas(64) RdmaRxQueuePair
{
    // --- touched by a data frame in order: one cache line
    RdmaMessageWire* messages{nullptr}; ///< messages of the bytes; null: not connected
    uint32_t qpn{0};                    ///< number at this host
    uint32_t senderQpn{0};              ///< number of the other side, at its host
    uint64_t expectedSeq{0};            ///< next byte in order
    uint64_t unacknowledged{0};         ///< bytes received in order since the last acknowledgement
    bool lossless{false};               ///< on NVLink
    uint16_t mtu{0};                    ///< payload bytes of a full frame
    std::unique_ptr<RdmaRecoveryState> recovery; ///< owned by the loss recovery

    // --- the rest
    std::unique_ptr<RdmaTransportState> transport; ///< owned by the transport
    uint16_t nic{0};              ///< with a transport: NIC port that the last frame came by
    uint32_t outOfOrderFrames{0}; ///< that came before one sent earlier
    RdmaHw* hw{nullptr};          ///< the host it is at
    RdmaPeer peer;
    std::unique_ptr<RdmaMessageWire> messageWire; ///< stays for the next connection
    std::vector<uint64_t> laterEnds; ///< ends of messages with a last frame that came out of order
    uint64_t nackedSeq{UINT64_MAX};  ///< expectedSeq of the last NACK
    int64_t nackPs{0};               ///< when it was sent
    int64_t cnpPs{INT64_MIN / 2};    ///< when the last CNP frame was sent
    uint64_t namedSeq{0};            ///< where the frame begins that a selective NACK names
    uint64_t reorderBytes{0};        ///< farthest that one reached beyond the byte expected
};

} // namespace ns3

#endif /* RDMA_RX_QUEUE_PAIR_H */

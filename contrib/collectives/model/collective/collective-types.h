/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVE_TYPES_H
#define COLLECTIVE_TYPES_H

#include <cstdint>
#include <string>
#include <vector>

namespace AstraSim
{

/// A collective operation, in nccl-tests' meaning of its size (see CollectiveRequest::bytes).
enum class CollectiveOp : uint8_t
{
    None,
    AllReduce,
    AllGather,
    ReduceScatter,
    AllToAll,
    AllToAllV,
    Broadcast,
    Reduce,
    Gather,
    Scatter,
    SendRecv,
    Barrier,
};

/// Parallelism that a group of ranks serves.
enum class GroupKind : uint8_t
{
    Tp,
    Dp,
    Ep,
    DpEp,
    Pp,
    Cp,
    Custom, ///< a communicator file, a Chakra process group, a list of ranks
};

/// Sizes of collectives and messages are below this: they are exact in floating point, and products
/// with numbers of ranks or steps stay within 64 bits.
inline constexpr uint64_t SIZES_END = 1ULL << 53;

/// A communicator: an ordered list of ranks.
struct CommGroup
{
    uint32_t id{0}; ///< unique in a job
    GroupKind kind{GroupKind::Custom};
    std::string name;       ///< "TP", "DP", a process group's name...
    std::vector<int> ranks; ///< rank numbers of the network, in the group's own order
};

/// One collective on one group, as the system layer asks for it.
struct CollectiveRequest
{
    CollectiveOp op{CollectiveOp::None};
    /// AllReduce, Broadcast, Reduce: the buffer; AllGather, ReduceScatter: the full (large) buffer;
    /// AllToAll: all data of one rank, its own part included; Gather, Scatter: the root's buffer.
    uint64_t bytes{0};
    int root{0};                          ///< index in the group, of rooted operations
    std::vector<uint64_t> bytesPerPair{}; ///< AllToAllV only: [sender * n + receiver]
};

/// @return nccl-tests' factor busbw / algbw for @p op over @p ranks ranks
double BusBandwidthFactor(CollectiveOp op, uint32_t ranks);

/// @return the name as SimAI's and NCCL's records spell it: "AllReduce", "AllGather", ...
const char* ToString(CollectiveOp op);

/// @return "TP", "DP", "EP", "DP_EP", "PP" or "CUSTOM"
const char* ToString(GroupKind kind);

} // namespace AstraSim

#endif /* COLLECTIVE_TYPES_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NETWORK_KIND_H
#define NETWORK_KIND_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace AstraSim
{

class TunerTable;

/**
 * @ingroup collectives
 * @brief A kind of network of one line rate, for all topologies: the part of the line rate that a
 * NIC reaches, the latency of a step between nodes beyond NCCL's own figures, and the allowed
 * protocols.
 *
 * NCCL's latencies were measured on InfiniBand. A cloud's transport adds to them. The figures are
 * of the network, not of a size or a collective. A NetworkTable has the kinds by name; the members'
 * initial values are those of the kind "none": links as the topology has them, latencies as NCCL
 * has them.
 */
struct NetworkKind
{
    std::string name{"none"}; ///< with the version: "EFA-p4d"
    /// Part of a NIC's line rate that long messages reach, headers and acknowledgements not
    /// counted.
    double efficiency{1};
    uint32_t packetBytes{0}; ///< payload of its packets, where nothing else is configured; 0: any
    double stepUs{0};        ///< microseconds of a step between nodes on top of NCCL's
    /// Latency that the network's plug-in tells NCCL, in microseconds: NCCL's estimates, and so its
    /// choices, are made with it; the real time of a step may differ.
    double toldUs{0};

    /// Messages of more bytes on the wire take so many microseconds more to start; the last that
    /// applies counts.
    struct SlowStart
    {
        uint64_t above;
        double us;
        bool occupies;  ///< whether the CPU that serves the NIC does nothing else meanwhile
        double GBps{0}; ///< at which this CPU moves a message to the NIC; 0: the NIC fetches it
    };

    static constexpr std::size_t MOST_SLOW_STARTS = 3;
    std::vector<SlowStart> slowStarts{}; ///< by rising limit
    /// One-way trips for which a message keeps its slot of the sender's buffer: 1 where sender and
    /// receiver each have their buffer to themselves for a trip, more where messages are agreed
    /// upon and acknowledged.
    uint32_t slotTrips{1};
    // Variables of NCCL's as its plug-in, or its vendor's settings, have them; 0: NCCL's defaults.
    uint64_t bufferBytes{0};   ///< NCCL_BUFFSIZE
    uint64_t pairChunk{0};     ///< NCCL_P2P_NET_CHUNKSIZE
    uint64_t nvlsChunk{0};     ///< NCCL_NVLS_CHUNKSIZE
    uint64_t nvlsTreeChunk{0}; ///< NCCL_NVLSTREE_MAX_CHUNKSIZE
    bool groupsNics{false};    ///< whether its plug-in shows a GPU's NICs to NCCL as one device
    bool allowsLl{true};       ///< whether LL may be used
    bool allowsLl128{true};    ///< whether LL128 may be used
    bool allowsNvls{true};     ///< whether its vendor's settings leave NVLS and NVLS-Tree on
    /// Bytes that each rank brings or gets from which on the vendor's tuner leaves LL128 to Simple;
    /// 0: NCCL chooses.
    uint64_t simpleFrom{0};
    std::shared_ptr<const TunerTable>
        tuner{}; ///< choices of its plug-in's tuner; null: it has none
};

} // namespace AstraSim

#endif /* NETWORK_KIND_H */

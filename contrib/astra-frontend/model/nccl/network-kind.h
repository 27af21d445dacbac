/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NETWORK_KIND_H
#define NETWORK_KIND_H

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief What differs between networks of one line rate, whatever their topology: how much of the
 * line rate a NIC reaches, what a step between nodes takes beyond NCCL's own figures, and which
 * protocols may be used.
 *
 * NCCL's latencies were measured on InfiniBand. A cloud's transport adds to them. The figures are
 * of the network, not of a size or a collective; each row says where it comes from.
 */
struct NetworkKind
{
    const char* name;
    /// Part of a NIC's line rate that long messages reach, headers and acknowledgements not
    /// counted.
    double efficiency;
    uint32_t packetBytes; ///< payload of its packets, where nothing else is configured; 0: any
    double stepUs;        ///< microseconds of a step between nodes on top of NCCL's
    /// Latency that the network's plug-in tells NCCL, in microseconds: NCCL's estimates, and so its
    /// choices, are made with it, whatever a step really takes.
    double toldUs;

    /// Messages of more bytes on the wire take so many microseconds more to start; the last that
    /// applies counts.
    struct SlowStart
    {
        uint64_t above;
        double us;
        bool occupies; ///< whether the CPU that serves the NIC does nothing else meanwhile
    };

    std::array<SlowStart, 3> slowStarts;
    /// One-way trips for which a message keeps its slot of the sender's buffer: 1 where sender and
    /// receiver each have their buffer to themselves for a trip, more where messages are agreed
    /// upon and acknowledged.
    uint32_t slotTrips;
    bool allowsLl;    ///< whether LL may be used
    bool allowsLl128; ///< whether LL128 may be used
    /// Bytes that each rank brings or gets from which on the vendor's tuner leaves LL128 to Simple;
    /// 0: NCCL chooses.
    uint64_t simpleFrom;
    bool allowsNvls;      ///< whether its vendor's settings leave NVLS and NVLS-Tree on
    const char* evidence; ///< where the figures come from

    /// @return all kinds, the one without a name in a run first
    static std::span<const NetworkKind> All();

    /// @return the kind of a name; capital letters do not count; null if there is none
    static const NetworkKind* Find(const std::string& name);

    /// @return the names of all kinds, separated by commas
    static std::string GetNames();
};

} // namespace AstraSim

#endif /* NETWORK_KIND_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef UEC_FABRIC_H
#define UEC_FABRIC_H

#include "fabric-test-support.h"

#include "ns3/fabric-totals.h"
#include "ns3/rdma-hw.h"

#include <cstdint>
#include <string>

namespace ns3
{

constexpr int64_t UEC_FRAME_BYTES =
    1000 + 82 + 40; ///< payload, RoCEv2's overhead, the rest of UEC's
constexpr int64_t UEC_FRAME_PS = UEC_FRAME_BYTES * 80; ///< at 100 Gb/s

inline std::string
UecConf(const std::string& more = "")
{
    return "PACKET_PAYLOAD_SIZE 1000\nCC_MODE 1\nTRANSPORT UEC\n" + more;
}

/// @return two leaves of four hosts each and @p spines spines between them, all at 100 Gb/s
inline std::string
TwoLeaves(uint32_t spines)
{
    std::string switches = "8 9";
    std::string links;
    for (uint32_t host = 0; host < 8; ++host)
    {
        links += std::to_string(host) + (host < 4 ? " 8" : " 9") + " 100Gbps 1us 0\n";
    }
    for (uint32_t spine = 10; spine < 10 + spines; ++spine)
    {
        switches += " " + std::to_string(spine);
        for (const char* leaf : {"8 ", "9 "})
        {
            links += leaf + std::to_string(spine) + " 100Gbps 1us 0\n";
        }
    }
    return std::to_string(10 + spines) + " " + std::to_string(2 + spines) + " " +
           std::to_string(8 + 2 * spines) + "\n" + switches + "\n" + links;
}

/// Totals of the switches and hosts of a fabric.
struct UecTotals
{
    explicit UecTotals(const FabricUnderTest& test)
        : fabric(test.fabric->GetTotals())
    {
        for (uint32_t host = 0; host < test.topology.hostCount; ++host)
        {
            const RdmaHwCounters counters = test.fabric->GetHw(host).GetCounters();
            timeouts += counters.timeouts;
            nacks += counters.nacksSent;
            outOfOrder += counters.outOfOrderFrames;
            retransmitted += counters.retransmitted;
        }
    }

    FabricTotals fabric;
    uint64_t timeouts{0};
    uint64_t nacks{0};
    uint64_t outOfOrder{0};
    uint64_t retransmitted{0};
};

} // namespace ns3

#endif /* UEC_FABRIC_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "uec-trimming.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/flow-hash.h"
#include "ns3/log.h"
#include "ns3/path-timing.h"
#include "ns3/switch-mmu.h"
#include "ns3/switch-node.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("UecTrimming");

// Hot path: OnArrival runs once per packet and switch.

NS_OBJECT_ENSURE_REGISTERED(UecTrimming);

TypeId
UecTrimming::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::UecTrimming")
            .SetParent<DynamicThresholds>()
            .SetGroupName("RdmaQbb")
            .AddConstructor<UecTrimming>()
            .AddAttribute(
                "QueueBytes",
                "Bytes that a queue may hold; 0: those that its link sends in the longest "
                "idle round trip of any two hosts, and at least 100 KB",
                UintegerValue(0),
                MakeUintegerAccessor(&UecTrimming::m_queueBytes),
                MakeUintegerChecker<uint64_t>())
            .AddAttribute("EcnLow",
                          "Part of a full queue up to which no packet is marked",
                          DoubleValue(0.2),
                          MakeDoubleAccessor(&UecTrimming::m_ecnLow),
                          MakeDoubleChecker<double>(0, 1))
            .AddAttribute("EcnHigh",
                          "Part of a full queue from which every packet is marked",
                          DoubleValue(0.8),
                          MakeDoubleAccessor(&UecTrimming::m_ecnHigh),
                          MakeDoubleChecker<double>(0, 1))
            .AddAttribute("TrimLow",
                          "Part of a full queue up to which no packet is trimmed",
                          DoubleValue(0.875),
                          MakeDoubleAccessor(&UecTrimming::m_trimLow),
                          MakeDoubleChecker<double>(0, 1))
            .AddAttribute("MarksEdge",
                          "Packets that leave to a host are marked, too",
                          BooleanValue(true),
                          MakeBooleanAccessor(&UecTrimming::m_marksEdge),
                          MakeBooleanChecker());
    return tid;
}

void
UecTrimming::FitToPaths(SwitchNode& node, int64_t longestRttPs)
{
    constexpr uint64_t LEAST_BYTES = 100'000; // a few of the largest frames on short paths
    m_limits.clear();
    for (uint16_t port = 0; port < node.GetPortCount(); ++port)
    {
        const uint64_t product = BdpBytes(node.GetPort(port).GetRateBps(), longestRttPs);
        const uint64_t limit = m_queueBytes ? m_queueBytes : std::max(LEAST_BYTES, product);
        m_limits.push_back(limit);
        const auto part = [limit](double share) {
            return static_cast<uint64_t>(share * static_cast<double>(limit));
        };
        EcnThresholds marks;
        if (m_marksEdge || !node.LeadsToHost(port))
        {
            marks = {part(m_ecnLow), std::max(part(m_ecnLow), part(m_ecnHigh)), 1.0};
        }
        node.GetMmu()->SetEcn(port, marks);
    }
}

bool
UecTrimming::DrawTrim(uint64_t queue, uint64_t limit, uint32_t hash)
{
    if (queue > limit)
    {
        return true;
    }
    const double low = m_trimLow * static_cast<double>(limit);
    if (static_cast<double>(queue) <= low)
    {
        return false;
    }
    const double share = (static_cast<double>(queue) - low) / (static_cast<double>(limit) - low);
    return MixBits(hash ^ MixBits(++m_draws)) < share * static_cast<double>(UINT32_MAX);
}

BufferPolicy::Verdict
UecTrimming::OnArrival(const QbbFrame& frame,
                       uint16_t outPort,
                       const SwitchNode& node,
                       int64_t /* nowPs */)
{
    const uint8_t priority = frame.priority;
    const SwitchMmu& mmu = *PeekPointer(node.GetMmu());
    if (priority == 0 || mmu.GetLimits().IsLossless(priority))
    {
        return Verdict::Admit;
    }
    // A frame that leaves at once needs no room, however short the queue may be.
    const uint64_t queue = mmu.GetCounts().GetEgressBytes(outPort, priority);
    const bool isFull =
        queue > 0 && DrawTrim(queue + frame.wireBytes, m_limits[outPort], frame.hash);
    if (isFull)
    {
        NS_LOG_INFO("node " << node.GetId() << " port " << outPort << " trims a frame of "
                            << frame.wireBytes << " bytes: " << queue << " wait");
    }
    return isFull ? Verdict::Trim : Verdict::Admit;
}

} // namespace ns3

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/buffer-thresholds.h"
#include "ns3/switch-mmu.h"
#include "ns3/switch-node.h"
#include "ns3/uinteger.h"

#include <cstdint>

namespace ns3
{

/**
 * Trimming as NDP has it (Handley et al., SIGCOMM 2017): queues are short, and a frame that finds
 * its queue full goes on without its payload, so that its receiver asks for it at once.
 */
class Trimming : public DynamicThresholds
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::Trimming")
                                .SetParent<DynamicThresholds>()
                                .AddConstructor<Trimming>()
                                .AddAttribute("QueueBytes",
                                              "Bytes that a queue may hold",
                                              UintegerValue(80'000),
                                              MakeUintegerAccessor(&Trimming::m_queueBytes),
                                              MakeUintegerChecker<uint64_t>(1));
        return tid;
    }

    Verdict OnArrival(const QbbFrame& frame,
                      uint16_t outPort,
                      const SwitchNode& node,
                      int64_t) override
    {
        const uint64_t queue = node.GetMmu()->GetCounts().GetEgressBytes(outPort, frame.priority);
        const bool isFull = frame.priority > 0 && queue + frame.wireBytes > m_queueBytes;
        return isFull ? Verdict::Trim : Verdict::Admit;
    }

  private:
    uint64_t m_queueBytes{80'000};
};

NS_OBJECT_ENSURE_REGISTERED(Trimming);

} // namespace ns3

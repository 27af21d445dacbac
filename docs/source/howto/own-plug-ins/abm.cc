/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/buffer-thresholds.h"
#include "ns3/double.h"
#include "ns3/nstime.h"
#include "ns3/switch-mmu.h"
#include "ns3/switch-node.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

namespace ns3
{

/**
 * ABM (Addanki, Apostolaki, Ghobadi, Schmid and Vanbever, SIGCOMM 2022) for lossy priorities. A
 * queue may hold alpha * (free buffer) * (its share of its port) / (congested queues of its
 * priority), so the buffer that a priority takes does not grow with its queues. Lossless
 * priorities keep the dynamic thresholds of their ingress.
 *
 * A queue is congested when it holds nine tenths of what it may; its share of the port is that of
 * a port that serves its waiting priorities in turn. Left out: a larger alpha for the first frames
 * of a flow.
 */
class Abm : public DynamicThresholds
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("ns3::Abm")
                .SetParent<DynamicThresholds>()
                .AddConstructor<Abm>()
                .AddAttribute("QueueAlpha",
                              "Share of the free buffer for all queues of a priority",
                              DoubleValue(0.5),
                              MakeDoubleAccessor(&Abm::m_alpha),
                              MakeDoubleChecker<double>(0))
                .AddAttribute("Interval",
                              "Time after which the congested queues are counted again",
                              TimeValue(MicroSeconds(1)),
                              MakeTimeAccessor(&Abm::m_interval),
                              MakeTimeChecker(Time(0)));
        return tid;
    }

    Verdict OnArrival(const QbbFrame& frame,
                      uint16_t outPort,
                      const SwitchNode& node,
                      int64_t nowPs) override
    {
        const SwitchMmu& mmu = *node.GetMmu();
        const BufferCounts& counts = mmu.GetCounts();
        if (frame.priority == 0 || mmu.GetLimits().IsLossless(frame.priority))
        {
            return Verdict::Admit;
        }
        if (nowPs >= m_countedPs + m_interval.GetTimeStep())
        {
            m_countedPs = nowPs;
            CountCongested(mmu);
        }
        const uint64_t after = counts.GetEgressBytes(outPort, frame.priority) + frame.wireBytes;
        return after > Limit(mmu, outPort, frame.priority) ? Verdict::Drop : Verdict::Admit;
    }

    uint64_t GetThreshold(const SwitchMmu& mmu,
                          uint32_t port,
                          uint8_t priority,
                          uint64_t sharedUsed) const override
    {
        return mmu.GetLimits().IsLossless(priority)
                   ? DynamicThresholds::GetThreshold(mmu, port, priority, sharedUsed)
                   : std::numeric_limits<uint64_t>::max();
    }

  private:
    /// @return bytes that the queue may hold
    double Limit(const SwitchMmu& mmu, uint32_t port, uint8_t priority) const
    {
        const BufferCounts& counts = mmu.GetCounts();
        uint32_t waiting = 0;
        for (uint8_t other = 1; other < SwitchMmu::PRIORITIES; ++other)
        {
            waiting += other == priority || counts.GetEgressBytes(port, other) > 0;
        }
        const uint64_t used = counts.GetTotalBytes();
        const uint64_t buffer = mmu.GetLimits().GetBufferBytes();
        const double free = used < buffer ? buffer - used : 0;
        return m_alpha * free / waiting / std::max(m_congested[priority], 1U);
    }

    void CountCongested(const SwitchMmu& mmu)
    {
        std::array<uint32_t, SwitchMmu::PRIORITIES> congested{};
        for (uint8_t priority = 1; priority < SwitchMmu::PRIORITIES; ++priority)
        {
            for (uint32_t port = 0; port < mmu.GetLimits().GetPortCount(); ++port)
            {
                const uint64_t queue = mmu.GetCounts().GetEgressBytes(port, priority);
                congested[priority] += queue > 0 && queue >= 0.9 * Limit(mmu, port, priority);
            }
        }
        m_congested = congested;
    }

    double m_alpha{0.5};
    Time m_interval;
    int64_t m_countedPs{std::numeric_limits<int64_t>::min() / 2};
    std::array<uint32_t, SwitchMmu::PRIORITIES> m_congested{}; ///< queues, by priority
};

NS_OBJECT_ENSURE_REGISTERED(Abm);

} // namespace ns3

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "native-plan.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace AstraSim
{

namespace
{

/// A schedule on one group.
class NativePlan : public CollectivePlan
{
  public:
    NativePlan(const CommGroup& group,
               std::shared_ptr<const NativeSchedule> theSchedule,
               const CollectiveChoice& choice,
               const MemoryBusLookup& theBusOf)
        : CollectivePlan(choice),
          ranks(group.ranks),
          schedule(std::move(theSchedule)),
          busOf(theBusOf)
    {
    }

    std::unique_ptr<RankCollective> CreateRank(uint32_t rankIndex,
                                               RankNetwork& network,
                                               int tagBase,
                                               const MessageInfo& info,
                                               std::function<void()> done) const override;

    const std::vector<int>& ranks; ///< of the network
    const std::shared_ptr<const NativeSchedule> schedule;
    const MemoryBusLookup& busOf;
};

/// One rank's way through a schedule. Methods have the names of ASTRA-sim's algorithms.
class NativeRank : public RankCollective
{
  public:
    NativeRank(const NativePlan& plan,
               uint32_t rankIndex,
               RankNetwork& network,
               int tagBase,
               const MessageInfo& info,
               std::function<void()> done)
        : m_schedule(*plan.schedule),
          m_ranks(plan.ranks),
          m_index(rankIndex),
          m_network(network),
          m_bus(plan.busOf(m_ranks[rankIndex])),
          m_tagBase(tagBase),
          m_info(info),
          m_done(std::move(done))
    {
        for (uint32_t lane = 0; lane < m_schedule.LaneCount(); ++lane)
        {
            const uint32_t steps = m_schedule.StepCount(rankIndex, lane);
            m_lanes.push_back({steps, 0, steps, m_schedule.Window()});
            m_lanesLeft += steps > 0;
        }
    }

    void Start() override
    {
        for (uint32_t lane = 0; lane < m_lanes.size(); ++lane)
        {
            ready(lane, true);
        }
    }

    std::string DescribeWait() const override
    {
        std::string text = "waits for";
        uint32_t waiting = 0;
        for (const auto& packet : m_packets)
        {
            if (packet->active && packet->step.receiveFrom >= 0)
            {
                text += (waiting++ ? ", " : " ") + std::to_string(packet->step.receiveBytes) +
                        " bytes from rank " + std::to_string(RankOf(packet->step.receiveFrom));
            }
        }
        return waiting ? text : text + " its memory bus";
    }

  private:
    /// Steps of one lane.
    struct Lane
    {
        uint32_t stepCount;       ///< steps in all
        uint32_t next{0};         ///< the step to begin next
        uint32_t stream_count{0}; ///< steps that have not ended
        uint32_t free_packets{0}; ///< further steps that may begin
    };

    /// A step that is under way; the argument of its events.
    struct Packet
    {
        NativeRank* owner;
        uint32_t lane;
        NativeStep step;
        bool active;
    };

    int RankOf(int index) const
    {
        return m_ranks[static_cast<std::size_t>(index)];
    }

    /// Begin as many steps of a lane as may be under way.
    /// @param isFirst whether these are its first steps, whose messages pass the memory bus
    void ready(uint32_t lane, bool isFirst)
    {
        while (MayBegin(lane))
        {
            Packet& packet = Begin(lane);
            if (!isFirst || packet.step.sendTo < 0)
            {
                run(packet);
                continue;
            }
            const MessageHandler atAgent = [](void* arg) {
                auto& passed = *static_cast<Packet*>(arg);
                passed.owner->run(passed);
            };
            m_bus.send_from_NPU_to_MA(packet.step.sendBytes, false, atAgent, &packet);
        }
    }

    bool MayBegin(uint32_t index) const
    {
        const Lane& lane = m_lanes[index];
        const uint32_t underWay = lane.next - (lane.stepCount - lane.stream_count);
        return lane.next < lane.stepCount && lane.free_packets > 0 &&
               (underWay == 0 || !m_schedule.Step(m_index, index, lane.next).afterAll);
    }

    Packet& Begin(uint32_t lane)
    {
        auto free = std::ranges::find_if(m_packets, [](auto& packet) { return !packet->active; });
        if (free == m_packets.end())
        {
            free = m_packets.insert(free, std::make_unique<Packet>());
        }
        Lane& state = m_lanes[lane];
        **free = {this, lane, m_schedule.Step(m_index, lane, state.next), true};
        ++state.next;
        --state.free_packets;
        return **free;
    }

    /// The message of @p packet is at the network port: send it and wait for its counterpart.
    void run(Packet& packet)
    {
        const NativeStep& step = packet.step;
        const int tag = m_tagBase + static_cast<int>(packet.lane);
        MessageInfo info = m_info;
        info.channel = packet.lane;
        if (step.sendTo >= 0)
        {
            m_network.Send(
                {.dst = RankOf(step.sendTo), .tag = tag, .bytes = step.sendBytes, .info = &info});
        }
        if (step.receiveFrom < 0)
        {
            End(packet);
            return;
        }
        const MessageHandler received = [](void* arg) {
            auto& there = *static_cast<Packet*>(arg);
            there.owner->Store(there);
        };
        info.stream = nullptr;
        m_network.Receive({.src = RankOf(step.receiveFrom),
                           .tag = tag,
                           .bytes = step.receiveBytes,
                           .info = &info,
                           .handler = received,
                           .arg = &packet});
    }

    void Store(Packet& packet)
    {
        const MessageHandler stored = [](void* arg) {
            auto& there = *static_cast<Packet*>(arg);
            there.owner->End(there);
        };
        m_bus.send_from_MA_to_NPU(packet.step.receiveBytes, packet.step.reduces, stored, &packet);
    }

    void End(Packet& packet)
    {
        const uint32_t lane = packet.lane;
        Lane& state = m_lanes[lane];
        packet.active = false;
        ++state.free_packets;
        if (--state.stream_count > 0)
        {
            ready(lane, false);
        }
        else if (--m_lanesLeft == 0)
        {
            m_done();
        }
    }

    const NativeSchedule& m_schedule;
    const std::vector<int>& m_ranks;
    uint32_t m_index;
    RankNetwork& m_network;
    NativeMemoryBus& m_bus;
    int m_tagBase;
    MessageInfo m_info;
    std::function<void()> m_done;
    std::vector<Lane> m_lanes;
    std::vector<std::unique_ptr<Packet>> m_packets;
    uint32_t m_lanesLeft{0};
};

std::unique_ptr<RankCollective>
NativePlan::CreateRank(uint32_t rankIndex,
                       RankNetwork& network,
                       int tagBase,
                       const MessageInfo& info,
                       std::function<void()> done) const
{
    return std::make_unique<NativeRank>(*this, rankIndex, network, tagBase, info, std::move(done));
}

} // namespace

std::shared_ptr<const CollectivePlan>
MakeNativePlan(const CommGroup& group,
               std::shared_ptr<const NativeSchedule> schedule,
               const CollectiveChoice& choice,
               const MemoryBusLookup& busOf)
{
    return std::make_shared<NativePlan>(group, std::move(schedule), choice, busOf);
}

} // namespace AstraSim

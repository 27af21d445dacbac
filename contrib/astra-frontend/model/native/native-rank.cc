/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "native-rank.h"

namespace AstraSim
{

NativeRank::NativeRank(const NativeSchedule& schedule,
                       const std::vector<int>& ranks,
                       uint32_t rankIndex,
                       RankNetwork& network,
                       NativeMemoryBus& bus,
                       int tagBase,
                       const MessageInfo& info,
                       std::function<void()> done)
    : m_schedule(schedule),
      m_ranks(ranks),
      m_index(rankIndex),
      m_network(network),
      m_bus(bus),
      m_tagBase(tagBase),
      m_info(info),
      m_done(std::move(done))
{
    for (uint32_t lane = 0; lane < schedule.LaneCount(); ++lane)
    {
        const uint32_t steps = schedule.StepCount(rankIndex, lane);
        m_lanes.push_back({steps, 0, steps, schedule.Window()});
        m_lanesLeft += steps > 0;
    }
}

void
NativeRank::Start()
{
    init();
}

void
NativeRank::init()
{
    for (uint32_t lane = 0; lane < m_lanes.size(); ++lane)
    {
        while (m_lanes[lane].next < m_lanes[lane].stepCount &&
               MayBegin(m_lanes[lane], m_schedule.Step(m_index, lane, m_lanes[lane].next)))
        {
            Packet& packet = Begin(lane);
            if (packet.step.sendTo >= 0)
            {
                m_bus.send_from_NPU_to_MA(packet.step.sendBytes,
                                          false,
                                          &NativeRank::AtAgent,
                                          &packet);
            }
            else
            {
                run(packet);
            }
        }
    }
}

bool
NativeRank::MayBegin(const Lane& lane, const NativeStep& step) const
{
    const uint32_t underWay = lane.next - (lane.stepCount - lane.stream_count);
    return lane.free_packets > 0 && (!step.afterAll || underWay == 0);
}

NativeRank::Packet&
NativeRank::Begin(uint32_t lane)
{
    Packet* packet = nullptr;
    for (auto& candidate : m_packets)
    {
        if (!candidate->active)
        {
            packet = candidate.get();
            break;
        }
    }
    if (!packet)
    {
        packet = m_packets.emplace_back(std::make_unique<Packet>()).get();
    }
    auto& state = m_lanes[lane];
    *packet = {this, lane, m_schedule.Step(m_index, lane, state.next), true};
    ++state.next;
    --state.free_packets;
    return *packet;
}

void
NativeRank::AtAgent(void* argument)
{
    auto& packet = *static_cast<Packet*>(argument);
    packet.owner->run(packet);
}

void
NativeRank::run(Packet& packet)
{
    const auto& step = packet.step;
    const int tag = m_tagBase + static_cast<int>(packet.lane);
    MessageInfo info = m_info;
    info.channel = packet.lane;
    if (step.sendTo >= 0)
    {
        const int curr_receiver = m_ranks[static_cast<std::size_t>(step.sendTo)];
        m_network.Send({.dst = curr_receiver, .tag = tag, .bytes = step.sendBytes, .info = &info});
    }
    if (step.receiveFrom >= 0)
    {
        const int curr_sender = m_ranks[static_cast<std::size_t>(step.receiveFrom)];
        info.stream = nullptr;
        m_network.Receive({.src = curr_sender,
                           .tag = tag,
                           .bytes = step.receiveBytes,
                           .info = &info,
                           .handler = &NativeRank::Received,
                           .arg = &packet});
        return;
    }
    End(packet);
}

void
NativeRank::Received(void* argument)
{
    auto& packet = *static_cast<Packet*>(argument);
    packet.owner->m_bus.send_from_MA_to_NPU(packet.step.receiveBytes,
                                            packet.step.reduces,
                                            &NativeRank::Stored,
                                            &packet);
}

void
NativeRank::Stored(void* argument)
{
    auto& packet = *static_cast<Packet*>(argument);
    packet.owner->End(packet);
}

void
NativeRank::End(Packet& packet)
{
    const uint32_t lane = packet.lane;
    auto& state = m_lanes[lane];
    packet.active = false;
    ++state.free_packets;
    if (--state.stream_count == 0)
    {
        --m_lanesLeft;
        if (!iteratable())
        {
            m_done();
        }
        return;
    }
    ready(lane);
}

void
NativeRank::ready(uint32_t lane)
{
    auto& state = m_lanes[lane];
    while (state.next < state.stepCount &&
           MayBegin(state, m_schedule.Step(m_index, lane, state.next)))
    {
        run(Begin(lane));
    }
}

bool
NativeRank::iteratable() const
{
    return m_lanesLeft > 0;
}

std::string
NativeRank::DescribeWait() const
{
    std::string text = "waits for";
    uint32_t waiting = 0;
    for (const auto& packet : m_packets)
    {
        if (packet->active && packet->step.receiveFrom >= 0)
        {
            text += (waiting++ ? ", " : " ") + std::to_string(packet->step.receiveBytes) +
                    " bytes from rank " +
                    std::to_string(m_ranks[static_cast<std::size_t>(packet->step.receiveFrom)]);
        }
    }
    return waiting ? text : text + " its memory bus";
}

} // namespace AstraSim

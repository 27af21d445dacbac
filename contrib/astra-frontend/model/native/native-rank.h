/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NATIVE_RANK_H
#define NATIVE_RANK_H

#include "native-memory-bus.h"
#include "native-schedule.h"

#include "ns3/collective-implementation.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief One rank's way through a native schedule, with ASTRA-sim's timing.
 *
 * A message leaves when it has passed the memory bus; a received one passes the bus back (and is
 * reduced there if the step says so) before the lane's next message leaves. So a ring of s steps
 * takes (s + 1) endpoint delays, s messages on the network, and three memory accesses per message
 * that is reduced. Methods have the names of ASTRA-sim's algorithms.
 */
class NativeRank : public RankCollective
{
  public:
    /// All references are borrowed; @p ranks are those of the network.
    NativeRank(const NativeSchedule& schedule,
               const std::vector<int>& ranks,
               uint32_t rankIndex,
               RankNetwork& network,
               NativeMemoryBus& bus,
               int tagBase,
               const MessageInfo& info,
               std::function<void()> done);

    void Start() override;
    std::string DescribeWait() const override;

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

    /// Begin the first steps of every lane: their messages pass the memory bus.
    void init();
    /// Begin as many steps of @p lane as may be under way.
    void ready(uint32_t lane);
    /// The message of @p packet is at the network port: send it and wait for its counterpart.
    void run(Packet& packet);
    /// @return whether steps of any lane remain
    bool iteratable() const;

    bool MayBegin(const Lane& lane, const NativeStep& step) const;
    Packet& Begin(uint32_t lane);
    void End(Packet& packet);
    static void AtAgent(void* packet);
    static void Received(void* packet);
    static void Stored(void* packet);

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

} // namespace AstraSim

#endif /* NATIVE_RANK_H */

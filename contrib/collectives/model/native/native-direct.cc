/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "native-graph.h"

#include <algorithm>

namespace AstraSim
{

namespace
{

/**
 * Every rank exchanges with every other directly, up to a window of them at a time.
 *
 * AllReduce is a direct ReduceScatter followed by a direct AllGather. Lane i goes to the rank i + 1
 * places further.
 */
class NativeDirect : public NativeGraph
{
  public:
    explicit NativeDirect(const CollectiveTask& task)
        : NativeGraph(task, static_cast<uint32_t>(task.servers.size()) - 1),
          m_window(std::min(task.window.value_or(GetLaneCount()), GetLaneCount()))
    {
    }

    uint32_t GetWindow() const override
    {
        return m_window;
    }

    uint32_t GetStepCount(uint32_t, uint32_t) const override
    {
        return MessagesPerLane() * GetLaneCount();
    }

    FlowStep GetStep(uint32_t, uint32_t, uint32_t step) const override
    {
        FlowStep exchange = Exchange(step % GetLaneCount(), Reduces(step / GetLaneCount()));
        exchange.afterAll = step == GetLaneCount();
        return exchange;
    }

    uint64_t GetBytes(uint32_t, uint32_t, uint64_t) const override
    {
        return BytesOf(1);
    }

    std::vector<uint32_t> GetBlocks(uint32_t rank,
                                    uint32_t outbound,
                                    uint64_t message) const override
    {
        const uint32_t target = GetLane(rank, outbound, true).peer;
        if (m_op == CollectiveOp::AllToAll)
        {
            return {rank * GetRanks() + target};
        }
        return {Reduces(message) ? target : rank};
    }

  protected:
    Lane GetLane(uint32_t rank, uint32_t index, bool outbound) const override
    {
        const uint32_t distance = index + 1;
        Lane lane;
        lane.peer = (rank + (outbound ? distance : GetRanks() - distance)) % GetRanks();
        lane.messages = MessagesPerLane();
        return lane;
    }

  private:
    uint32_t m_window;
};

const CollectiveAlgorithm NATIVE_DIRECT("native-direct", NativeRules<NativeDirect>(true));

} // namespace

} // namespace AstraSim

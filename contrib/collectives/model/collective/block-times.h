/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef BLOCK_TIMES_H
#define BLOCK_TIMES_H

#include "collective-algorithm.h"
#include "gpu-model.h"

#include <cstdint>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief Times of a graph's lanes where each lane is one of NCCL's thread blocks.
 *
 * In a server the block copies one message after the other. Between servers the network sets the
 * pace.
 */
class BlockTimes : public GpuModel
{
  public:
    /// @param block times of the block's protocol, from the task
    BlockTimes(const CollectiveTask& task, const CollectiveTask::Block& block)
        : m_servers(task.servers)
    {
        m_near.latency = task.sendLatency.value_or(block.step);
        m_near.slots = 1;
        m_near.rateCapBps = task.sendLatency ? 0 : static_cast<uint64_t>(block.GBps * 8e9);
        m_far.latency = task.sendLatency.value_or(block.netStep);
    }

    LaneTimes GetTimes(uint32_t rank, uint32_t, bool, const Lane& lane) const override
    {
        return m_servers[rank] == m_servers[lane.peer] ? m_near : m_far;
    }

  private:
    std::vector<uint32_t> m_servers;
    LaneTimes m_near; ///< in a server
    LaneTimes m_far;  ///< between servers
};

} // namespace AstraSim

#endif /* BLOCK_TIMES_H */

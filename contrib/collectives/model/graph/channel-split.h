/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CHANNEL_SPLIT_H
#define CHANNEL_SPLIT_H

#include "nccl-protocol.h"

#include "ns3/collective-types.h"

#include <cstdint>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief The part of a collective's data that each channel carries.
 *
 * NCCL cuts the data into cells that cause 32 KiB of traffic and deals them out: the first channel
 * gets its part, those after it one equal part each, the last one the rest, which may be shorter
 * or, if a cell more than all parts is left, longer. Small collectives leave channels empty
 * (src/enqueue.cc, scheduleCollTasksToPlan).
 */
class ChannelSplit
{
  public:
    /**
     * @param bytes as in CollectiveRequest
     * @param channels that may be used
     */
    ChannelSplit(CollectiveOp op,
                 NcclProtocol protocol,
                 uint32_t ranks,
                 uint64_t bytes,
                 uint32_t channels);

    /// @return how many channels have data; 1 if there is none
    uint32_t GetChannels() const
    {
        return m_channels;
    }

    /// @return first byte of a channel's part
    uint64_t GetBegin(uint32_t channel) const
    {
        return channel == 0 ? 0 : m_first + (channel - 1) * m_middle;
    }

    /// @return bytes of a channel's part
    uint64_t GetBytes(uint32_t channel) const
    {
        return channel + 1 == m_channels ? m_total - GetBegin(channel)
               : channel == 0            ? m_first
                                         : m_middle;
    }

  private:
    uint64_t m_total;
    uint64_t m_first;
    uint64_t m_middle{0};
    uint32_t m_channels{1};
};

} // namespace AstraSim

#endif /* CHANNEL_SPLIT_H */

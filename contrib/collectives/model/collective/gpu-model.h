/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef GPU_MODEL_H
#define GPU_MODEL_H

#include "flow-graph.h"
#include "rank-network.h"

#include <array>
#include <cstdint>
#include <memory>

namespace AstraSim
{

/// Ratio of a GPU's rate of copies within its memory to its rate of sends to another's.
inline constexpr uint32_t OWN_COPY_SPEED = 2;

/// The copy of a lane, if any, during which the GPU does nothing else and so copies at full speed.
enum class AloneAt : uint8_t
{
    Nowhere,
    First, ///< the first copy: no data for other work have come yet
    Last,  ///< the last copy: all other work is done
};

/// Messages of more than so many bytes on the wire take longer to start on some networks.
struct SlowStart
{
    uint64_t above{0};
    TimePs latency{0};    ///< on top; 0: none
    bool occupies{false}; ///< whether the CPU that serves the NIC does nothing else meanwhile
    /// Time in which this CPU moves a byte to the NIC as it leaves; 0: the NIC moves it by itself.
    double psPerByte{0};
    /// The latency of messages after the first ones (LaneTimes::connections), which find the CPU
    /// prepared. Negative: as that of the first.
    TimePs again{-1};

    /// @return whether messages above the limit differ at all from others
    bool Applies() const
    {
        return latency > 0 || psPerByte > 0;
    }

    bool operator==(const SlowStart&) const = default;
};

/// Slow starts of a network, by rising size of messages.
using SlowStarts = std::array<SlowStart, 3>;

/**
 * @ingroup collectives
 * @brief Times of a GPU, its blocks and the CPU that serves its NIC for a lane's messages.
 *
 * Without a rate and a latency the network alone sets the pace.
 */
struct LaneTimes
{
    static constexpr uint32_t NONE = UINT32_MAX;

    /// Messages that may be on their way at once; 0 for the graph's slots. 1: the GPU copies one by
    /// one (NVLink). More than the graph's: both ends have a buffer, as across a network.
    uint32_t slots{0};
    TimePs latency{0}; ///< software latency of each message
    /// A longer message stands for several of so many bytes, and has the latencies of all; 0: each
    /// stands for itself.
    uint64_t messageBytes{0};
    uint64_t rateCapBps{0}; ///< the channel's copy speed, bit/s; 0 for no limit
    /// Number of first messages that have the latency; that of later ones passes while the GPU
    /// works on others. NONE: all messages have it.
    uint32_t withLatency{NONE};
    /// Connections that the lane's messages are spread over, each of which has a first one.
    uint32_t connections{1};
    /// Data that the GPU's block moves in one pass of its copy loop; 0: the rate alone counts.
    uint32_t passBytes{0};
    /// Bytes that cost no time at the lane's rate, as the latency includes it.
    uint32_t hiddenBytes{0};
    bool waitsEachPass{false};         ///< each pass waits for the flags that travel with its data
    bool wholePasses{false};           ///< a pass that is cut short takes as long as a whole one
    AloneAt aloneAt{AloneAt::Nowhere}; ///< of copies: which one goes at aloneSpeed
    float aloneSpeed{1};               ///< of copies: how many times as fast as the others
    float wireInflation{1};            ///< in-network: bytes on the members' links per byte of data
    SlowStarts slowStarts{};           ///< the last that applies counts
    /// Time of the channel's block to read or write a byte of a buffer, where it does nothing but
    /// serve the network: one message after the other, before it goes or once it has come. 0: free.
    double psPerAccess{0};
    /// Inbound: how many times as fast as it is sent a message is copied out of its slot.
    uint32_t takeSpeed{OWN_COPY_SPEED};
    uint32_t takeAccesses{0}; ///< inbound: reads and writes of each byte that is not passed on

    /// @return whether a message has the latency
    bool HasLatency(uint64_t message) const
    {
        return message < withLatency || withLatency == NONE;
    }

    /// @return how many times as fast as the lane's rate a message is copied
    /// @param messages of the lane
    double SpeedOf(uint64_t message, uint64_t messages) const
    {
        const bool isAlone = (aloneAt == AloneAt::First && message == 0) ||
                             (aloneAt == AloneAt::Last && message + 1 == messages);
        return isAlone ? aloneSpeed : 1;
    }

    bool operator==(const LaneTimes&) const = default;
};

/// Times of a GPU to move a message.
struct CopyTime
{
    TimePs latency{0};  ///< waiting and synchronizing, before the first byte
    TimePs duration{0}; ///< of all bytes at the lane's rate; 0 without a rate
    TimePs busy{0};     ///< time in which the rank's CPU starts no other message
};

/**
 * Where passes are whole, one that is cut short takes as long as any; in a message of less than a
 * pass the latency stands for that waiting.
 * @param lane its times
 * @param bytes of data
 * @param wireInflation bytes on the wire per byte of data
 * @param message number of the message in its lane
 * @return the time to move a message of a lane
 */
CopyTime CopyTimeOf(const LaneTimes& lane,
                    uint64_t bytes,
                    double wireInflation,
                    uint64_t message = 0);

/**
 * @ingroup collectives
 * @brief Times of GPUs for the messages of a FlowGraph.
 *
 * The graph has messages, their bytes and their order. A model of the GPU says how many
 * microseconds its blocks and CPU spend on a message.
 */
class GpuModel
{
  public:
    virtual ~GpuModel() = default;

    /// @return times of lane @p index out of a rank, or into it
    /// @param lane the lane in the graph
    virtual LaneTimes GetTimes(uint32_t rank,
                               uint32_t index,
                               bool outbound,
                               const Lane& lane) const = 0;

    /// @return how often a block of psPerAccess reads or writes each byte of a message that it
    /// sends
    virtual uint32_t GetSendAccesses(uint32_t rank, uint32_t outbound, uint64_t message) const
    {
        return 0;
    }

    /**
     * A message of a step (StepOrder) takes the bus between the rank's memory and its network port,
     * which all collectives of the rank may share.
     * @param outbound whether it goes to the port
     * @param reduces whether the rank adds it to its own data
     * @return how long it takes from @p now on
     */
    virtual TimePs OccupyBus(uint32_t rank,
                             bool outbound,
                             uint64_t bytes,
                             bool reduces,
                             TimePs now) const
    {
        return 0;
    }
};

/// A GPU that takes the same for the messages of all lanes: no time at all, by default.
class UniformGpu : public GpuModel
{
  public:
    explicit UniformGpu(const LaneTimes& times = {})
        : m_times(times)
    {
    }

    LaneTimes GetTimes(uint32_t, uint32_t, bool, const Lane&) const override
    {
        return m_times;
    }

  private:
    LaneTimes m_times;
};

/// Messages of a collective, and times of GPUs for them. Both are null if the flows do not follow
/// from a graph.
struct TimedGraph
{
    std::shared_ptr<const FlowGraph> graph;
    std::shared_ptr<const GpuModel> gpu;
};

} // namespace AstraSim

#endif /* GPU_MODEL_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CCLO_DATA_PLANE_H
#define CCLO_DATA_PLANE_H

#include "cclo-move.h"
#include "cclo-rx-buffers.h"

#include "ns3/cclo-protocol-engine.h"
#include "ns3/data-rate.h"
#include "ns3/nstime.h"
#include "ns3/object.h"
#include "ns3/traced-callback.h"

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace ns3
{

/**
 * @ingroup accl-cclo
 * @brief The data plane of an engine: decodes moves in order and streams their operands from
 * memory, rx buffers or a kernel through compression lanes and the arithmetic unit to memory, a
 * kernel or the network.
 *
 * Units: read channels of movers 0 (operand 0) and 1 (operand 1), write channel of mover 1
 * (result), three compression lanes, the arithmetic unit, the packetizer, the kernel's streams in
 * and out. Write channel 0 fills rx buffers; mover 2 serves peers' rendezvous writes. All are 64
 * bytes wide and take a word per cycle. A move holds the units on its route while its words pass;
 * one that needs any of them waits, and so do those behind it. A move takes
 *
 *     decode + mover + memory (read) + (switch + unit) per unit + switch + stream + memory (write)
 *
 * where "stream" is one cycle per word in the slowest place, or longer if a memory's bandwidth is
 * lower. A result that goes to the network takes packetizer instead of memory (write), and a word
 * more per message for its header.
 *
 * Contents are read when a move begins and written when it ends. A move that reads an earlier
 * move's result begins when that move has ended; ACCL's hardware leaves that to the firmware. Left
 * out: memories shared by several moves at a time have their bandwidth for each.
 */
class CcloDataPlane : public Object
{
  public:
    static TypeId GetTypeId();

    CcloDataPlane();
    ~CcloDataPlane() override;

    /// Calls to the firmware.
    struct Listener
    {
        virtual ~Listener() = default;
        /// The oldest move has ended. @param error CcloError bits
        virtual void OnRetired(uint32_t error) = 0;
        /// A move has been decoded: there is room for another.
        virtual void OnDecoded() = 0;
    };

    /// Connect to the other parts of the engine, which outlive this object's use.
    void Install(CcloExchangeMemory& exchange,
                 CcloMemory& memory,
                 CcloRxBuffers& rxBuffers,
                 CcloProtocolEngine& network,
                 Listener& listener);

    /// @return whether as many moves wait as the FIFO has room for
    bool IsFull() const
    {
        return m_queue.size() >= m_fifoDepth;
    }

    /// Carry out a move after those issued before.
    void Issue(const CcloMove& move);

    /// A message can be found in an rx buffer, or the network has room.
    void OnProgress();

    /// A kernel writes to its stream into the engine. @param bytes their number, also without
    /// contents
    void PushStream(CcloBytes data, uint64_t bytes);

    /// Set the receiver of data that the engine writes to a kernel: stream, data, bytes.
    void SetStreamSink(std::function<void(uint32_t, CcloBytes&&, uint64_t)> sink)
    {
        m_streamSink = std::move(sink);
    }

    /// An eager message for a kernel's stream has arrived.
    void DeliverToStream(uint32_t stream, CcloBytes&& data, uint64_t bytes);

    /// @return time to store so many bytes, first to last, at @p address
    Time GetWriteTime(uint64_t address, uint64_t bytes) const;

    /// @return time from the network to the receiving side's memory, or to the firmware
    Time GetDepacketizerLatency() const
    {
        return m_depacketizerLatency;
    }

    /// @return the time of one cycle
    Time GetClockPeriod() const
    {
        return m_clockPeriod;
    }

    /// @return moves that have not ended
    uint32_t GetUnfinished() const
    {
        return static_cast<uint32_t>(m_queue.size() + m_flying.size());
    }

    /// @return the wait of the oldest move, if it waits for anything but time; in words
    std::vector<std::string> DescribeWaits() const;

    /// Forget all moves.
    void Reset();

    /// Signature of "MoveStart".
    typedef void (*MoveStartCallback)(const CcloMove& move);
    /// Signature of "MoveDone".
    typedef void (*MoveDoneCallback)(const CcloMove& move, uint32_t error);

  protected:
    void DoDispose() override;

  private:
    /// Units that a move may hold while its words pass.
    enum Unit : uint8_t
    {
        READ_0,
        READ_1,
        WRITE_1,
        LANE_0,
        LANE_1,
        LANE_2,
        ARITHMETIC,
        STREAM_IN,
        STREAM_OUT,
        UNITS
    };

    /// Reason for which the move at the head waits.
    enum class Wait : uint8_t
    {
        None,
        Message,
        Packetizer,
        Stream
    };

    struct Piece
    {
        uint32_t buffer;
        uint32_t bytes;
        uint64_t address;
    };

    /// A move on its way.
    struct Flight
    {
        uint64_t number{0};
        CcloMove move;
        CcloArithmeticConfig config;
        uint64_t op0Address{0};
        uint64_t op1Address{0};
        uint64_t resultAddress{0};
        uint32_t op0Bytes{0};
        uint32_t op1Bytes{0};
        uint32_t resultBytes{0};
        bool prepared{false};
        bool done{false};
        uint32_t error{0};
        uint32_t scanned{0};
        uint32_t remaining{0}; ///< bytes of the message still sought
        std::vector<Piece> pieces;
        CcloBytes streamed;
        Time stream;  ///< time its words take
        Time latency; ///< from its begin to its first word at the end
        CcloBytes outcome;
        uint32_t sent{0}; ///< bytes that the packetizer has taken
    };

    struct RouteOperand;
    struct Route;

    struct Write
    {
        uint64_t address;
        uint64_t bytes;
        Time end;
    };

    struct LastAddress
    {
        uint64_t address{0};
        uint64_t bytes{0};
    };

    void DecodeAll();
    bool TryDispatch(Flight& flight);
    void Prepare(Flight& flight);
    uint64_t Resolve(CcloOperand operand,
                     uint64_t address,
                     int64_t stride,
                     uint32_t elementBytes,
                     uint32_t bytes,
                     LastAddress& last);
    void CheckRanges(Flight& flight) const;
    bool Gather(Flight& flight);
    bool TakeStream(Flight& flight);
    /// Plan a move: its route, its duration, and its start.
    Time PlanRoute(Flight& flight);
    void AddOperand(Route& route, const RouteOperand& operand) const;
    void AddOperands(Route& route, const Flight& flight) const;
    void AddResult(Route& route, const Flight& flight) const;
    void LimitByMemories(Route& route) const;
    Time AfterHazards(const Flight& flight, Time begin);
    /// Take a step of a move later, unless there is a reset before.
    void ScheduleFor(Time wait, uint64_t number, void (CcloDataPlane::*step)(uint64_t));
    void FinishNothing(uint64_t number);
    void Begin(uint64_t number);
    void ReachPacketizer(uint64_t number);
    CcloBytes ReadOperand1(const Flight& flight);
    void Compute(Flight& flight);
    CcloBytes ToForm(const Flight& flight, CcloBytes data, bool isCompressed, bool wanted) const;
    void Finish(uint64_t number);
    void Packetize();
    CcloHeader MakeHeader(const Flight& flight, uint32_t bytes) const;
    void OnPacketized();
    void Done(Flight& flight);
    void Retire();
    Flight& Find(uint64_t number);
    Time BandwidthTime(CcloMemoryKind kind, uint64_t bytes) const;
    Time MemoryLatency(uint64_t address) const;
    Time WordTime(uint64_t bytes) const;

    CcloExchangeMemory* m_exchange{nullptr};
    CcloMemory* m_memory{nullptr};
    CcloRxBuffers* m_rxBuffers{nullptr};
    CcloProtocolEngine* m_network{nullptr};
    Listener* m_listener{nullptr};

    Time m_clockPeriod;
    uint32_t m_width{64};
    uint32_t m_fifoDepth{16};
    Time m_decodeLatency;
    Time m_matchTime;
    Time m_moverLatency;
    Time m_switchLatency;
    Time m_arithmeticLatency;
    Time m_compressionLatency;
    Time m_packetizerLatency;
    Time m_depacketizerLatency;
    DataRate m_hbmBandwidth;
    DataRate m_ddrBandwidth;
    DataRate m_hostBandwidth;
    Time m_hbmLatency;
    Time m_ddrLatency;
    Time m_hostLatency;

    std::deque<Flight> m_queue;  ///< issued, not decoded
    std::deque<Flight> m_flying; ///< dispatched, not retired; numbers are consecutive
    std::deque<uint64_t> m_packetizing;
    std::array<Time, UNITS> m_busyUntil;
    std::vector<Write> m_writes;
    std::array<LastAddress, 3> m_last; ///< of operand 0, 1 and the result
    uint64_t m_nextNumber{0};
    uint32_t m_cachedConfigAddress{UINT32_MAX};
    CcloArithmeticConfig m_cachedConfig;
    Wait m_wait{Wait::None};
    bool m_packetizerWaits{false};
    bool m_packetizerBusy{false};
    bool m_draining{false};
    std::deque<CcloBytes> m_streamData;
    uint64_t m_streamBytes{0};
    std::function<void(uint32_t, CcloBytes&&, uint64_t)> m_streamSink;
    TracedCallback<const CcloMove&> m_moveStart;
    TracedCallback<const CcloMove&, uint32_t> m_moveDone;
    uint32_t m_epoch{0}; ///< a reset ends all events of the one before
};

} // namespace ns3

#endif /* CCLO_DATA_PLANE_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_CHECK_H
#define FABRIC_CHECK_H

#include "ns3/rdma-fabric.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Watches every frame of a fabric, and checks laws that hold in every simulation.
 *
 * Keeps books of its own, from trace sources alone:
 * - Links: one frame at a time at the port's rate; each frame that was sent arrives once, in order
 *   and at its time, or is lost; none of a paused priority is sent; the port's counters agree.
 * - PFC: pauses and resumes of a priority alternate; nothing is paused when all is done.
 * - Queue pairs: new data is sent without gaps; no frame leaves beyond the window by more than one
 *   frame, nor earlier than the rate lets it; payload sent has arrived or is lost. A pair with its
 *   turn at its NIC sends a frame although its window or rate has fallen since.
 * - Switches: no frame of a lossless priority is dropped for want of room; the buffer's accounts
 *   agree with the frames in the queues, and come to zero.
 * - The clock never runs backwards.
 *
 * Results stay the same; each thing becomes an event, so a run takes several times as long.
 *
 * @code
 * FabricCheck check(*fabric, [](const std::string& what) { std::cerr << what << "\n"; });
 * Simulator::Run();
 * check.Finish(true);
 * @endcode
 */
class FabricCheck
{
  public:
    /// Told of each broken law, with the time.
    using Report = std::function<void(const std::string& what)>;

    /// @param fabric built, before anything is sent; outlives the object
    FabricCheck(RdmaFabric& fabric, Report report);
    ~FabricCheck();

    FabricCheck(const FabricCheck&) = delete;
    FabricCheck& operator=(const FabricCheck&) = delete;

    /// The simulation is over. @param drained whether nothing was left to simulate
    void Finish(bool drained);

  private:
    /// A frame on a wire.
    struct Flight
    {
        const QbbFrame* frame;
        QbbFrame sent; ///< as it left
        int64_t duePs;

        /// @return whether @p other is this frame, or a copy of it where links retry
        bool Is(const QbbFrame& other, bool isRetried) const
        {
            return isRetried
                       ? sent.kind == other.kind && sent.src == other.src &&
                             sent.dst == other.dst && sent.qpn == other.qpn && sent.seq == other.seq
                       : frame == &other;
        }
    };

    /// Frames of one port.
    struct Port
    {
        uint32_t node;
        uint16_t number;
        uint32_t peer; ///< index of the port at the far end
        int64_t busyUntilPs{0};
        uint64_t sentFrames{0}; ///< this and the next two without PFC
        uint64_t sentBytes{0};
        uint64_t arrivedFrames{0}; ///< at the far end
        uint8_t paused{0};         ///< bit p: told to pause priority p
        std::deque<Flight> flights;
    };

    /// A queue pair by its hosts, the sender's first, and its number at one of them.
    struct PairKey
    {
        uint64_t hosts;
        uint32_t qpn;
        bool operator==(const PairKey&) const = default;
    };

    struct PairHash
    {
        std::size_t operator()(const PairKey& key) const
        {
            const uint64_t hash = (key.hosts ^ key.hosts >> 29) * 0x9E3779B97F4A7C15ULL + key.qpn;
            return static_cast<std::size_t>((hash ^ hash >> 31) * 0xBF58476D1CE4E5B9ULL);
        }
    };

    struct Pair
    {
        const RdmaQueuePair* open{nullptr}; ///< null when it has ended
        uint64_t nextSeq{0};                ///< first byte that has not been sent yet
        int64_t lastPs{0};                  ///< when its last frame began
        uint32_t lastBytes{0};              ///< of that frame, on the wire
        uint64_t lastRateBps{0};            ///< the highest rate since its last frame
        uint64_t lastWindow{0};             ///< the window at its last frame
        uint64_t underWay{0};               ///< payload bytes between the hosts
        PairKey name{};                     ///< by the receiver's number, once that is known
    };

    void Attach(bool connect);
    void Fail(const std::string& what) const;
    void Tick();
    std::string Name(const Port& port) const;
    /// By number at the sender.
    using Pairs = boost::unordered_flat_map<PairKey, Pair, PairHash>;
    /// @return the pair of a data frame; the end for a frame that no two hosts exchange
    Pairs::iterator FindPair(const QbbFrame& frame);
    void Erase(Pairs::iterator pair);

    void OnTx(uint32_t port, Ptr<const QbbNetDevice> device, const QbbFrame& frame);
    void OnRx(uint32_t port, Ptr<const QbbNetDevice> device, const QbbFrame& frame);
    void OnLost(uint32_t port, Ptr<const QbbNetDevice> device, const QbbFrame& frame);
    void OnPfc(uint32_t port, Ptr<const QbbNetDevice> device, uint8_t priority, bool paused);
    void OnDrop(uint32_t node, Ptr<const SwitchNode> at, const QbbFrame& frame);
    void OnOpen(const RdmaQueuePair& qp);
    void OnNamed(const RdmaQueuePair& qp);
    void OnClose(const RdmaQueuePair& qp);
    void CheckPairTx(const Port& port, const QbbFrame& frame);
    /// Note the rate of the pair that a frame is an answer to, before the answer changes it.
    void NoteRate(const QbbFrame& answer);
    void Arrived(const QbbFrame& frame);
    void OnTrim(Ptr<const SwitchNode> at, const QbbFrame& frame);
    void CheckBuffer(uint32_t node);
    void CheckCounters(const Port& port, bool drained);

    RdmaFabric& m_fabric;
    Report m_report;
    std::vector<Port> m_ports;
    std::vector<uint32_t> m_firstPort;    ///< of each node, in m_ports
    std::vector<uint64_t> m_bufferDrops;  ///< of each node, as far as they have been looked at
    std::vector<uint32_t> m_framesToLook; ///< by node: frames until the next check of its buffer
    Pairs m_pairs;
    boost::unordered_flat_map<PairKey, uint32_t, PairHash>
        m_names; ///< a pair's number at the sender by that at the receiver
    int64_t m_lastPs{0};
    bool m_answersIgnorePauses{false}; ///< which leave hosts in spite of pauses
};

} // namespace ns3

#endif /* FABRIC_CHECK_H */

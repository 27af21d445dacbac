/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CONNECTION_PLANNER_H
#define CONNECTION_PLANNER_H

#include "fabric-routes.h"
#include "ideal-fct.h"
#include "message-cut.h"
#include "path-survey.h"

#include "ns3/flow-hash.h"

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace ns3
{

/// Choices from which a connection's path follows.
struct ConnectionStart
{
    uint32_t hash{0};      ///< of the 5-tuple
    uint16_t firstPort{0}; ///< the source's port
    uint16_t sport{0};     ///< UDP source port
};

/**
 * @ingroup rdma-qbb
 * @brief Chooses the NICs and UDP source ports of connections from host to host.
 *
 * Every network of a cluster, of packets or of flows, chooses by it, so that connections opened in
 * the same order take the same paths. Source ports are given out one after the other for each pair
 * of hosts, beginning again after the last.
 */
class ConnectionPlanner
{
  public:
    static constexpr uint16_t FIRST_SPORT = 10000;

    /// Properties that all connections from one host to another share.
    struct Pair
    {
        const std::vector<uint16_t>* ports{nullptr}; ///< that begin a path; not null
        const MessageCut* cut{nullptr};              ///< of messages; not null
        PathLimits limits;                           ///< see FindLimits(); rate 0 if not known
        uint32_t idealKind{IdealFct::UNKNOWN};
        uint16_t nextSport{FIRST_SPORT};
        bool nvlink{false}; ///< an NVSwitch joins them
    };

    /**
     * @param topology,routes outlive the object
     * @param network,nvlink sizes of frames through network switches and through NVSwitches
     * @param use how many of the shortest paths the packets of a connection take
     * @param queuePairs of a message on each NIC
     */
    ConnectionPlanner(const ClusterTopology& topology,
                      const FabricRoutes& routes,
                      const FrameSizes& network,
                      const FrameSizes& nvlink,
                      PathUse use,
                      uint32_t queuePairs = 1);

    /// @return the facts of two hosts; stays at its address until the next pair is looked for
    Pair& Find(uint32_t src, uint32_t dst);

    /// @return the limits of any connection of two hosts @param pair has ports
    const PathLimits& FindLimits(Pair& pair, uint32_t src, uint32_t dst) const;

    /// @return whether two connections between the same hosts may have different limits
    bool LimitsDependOnHash() const
    {
        return m_survey.DependsOnHash();
    }

    /// @return the limits of a connection that stays on one path @param nvlink an NVSwitch is on it
    PathLimits LimitsOf(const PathInfo& there, const PathInfo& back, bool nvlink) const;

    /// @return all paths that connections may take
    const PathSurvey& GetSurvey() const
    {
        return m_survey;
    }

    /**
     * A new connection.
     * @param pair Find() of the two hosts
     * @param src,dst the hosts
     * @param channel spreads connections over a host's ports in order; below 0: by the hash
     * @param dport UDP destination port
     * @param sport UDP source port; 0 for the next free one
     * @return where it starts, or nothing if no path leads there
     */
    static std::optional<ConnectionStart> Open(Pair& pair,
                                               uint32_t src,
                                               uint32_t dst,
                                               int64_t channel,
                                               uint16_t dport,
                                               uint16_t sport);

    /// @return UDP source port of a part of a message, where that of its first part is @p first:
    /// the parts of a stream of messages keep their paths
    static uint16_t SourcePortOf(uint16_t first, uint32_t part);

    /// @return the port for a connection that used @p port, which may no longer begin a path;
    /// nothing if no port begins one
    static std::optional<uint16_t> Move(const Pair& pair, uint32_t hash, uint16_t port);

    /// @return column "ideal" of FCT files for a message, in picoseconds; 0 without a path
    int64_t GetIdealFctPs(uint32_t src, uint32_t dst, uint64_t bytes)
    {
        RecentIdeal& recent = m_sources[src].recentIdeals[Source::PlaceOf(dst, bytes)];
        if (recent.dst != dst || recent.bytes != bytes)
        {
            recent = {WorkOutIdealFctPs(src, dst, bytes), bytes, dst};
        }
        return recent.idealPs;
    }

    /// Routes have been worked out again.
    void OnRoutesChanged();

    /// The next connection of any two hosts is the first of them again.
    void Forget();

  private:
    /// The ideal of a message, likely to be asked for again: hosts send messages of few sizes.
    struct RecentIdeal
    {
        int64_t idealPs{0};
        uint64_t bytes{0};
        uint32_t dst{UINT32_MAX};
    };

    /// The pairs that a host has been asked for.
    struct Source
    {
        /// Ideals that are remembered. Messages of a ring have one peer and one size or two; those
        /// of a tree go to six peers.
        static constexpr uint32_t RECENT = 8;

        /// Peers are often the same GPU of several servers, so their numbers agree in low bits.
        static uint32_t PlaceOf(uint32_t dst, uint64_t bytes)
        {
            return MixBits(dst ^ static_cast<uint32_t>(bytes)) % RECENT;
        }

        boost::unordered_flat_map<uint32_t, Pair> pairs;      ///< by destination
        std::map<std::vector<uint16_t>, MessageCut> portSets; ///< few: pairs share them
        std::array<RecentIdeal, RECENT> recentIdeals;         ///< by PlaceOf()
    };

    void Fill(Pair& pair, uint32_t src, uint32_t dst);
    int64_t WorkOutIdealFctPs(uint32_t src, uint32_t dst, uint64_t bytes);

    const ClusterTopology& m_topology;
    const FabricRoutes& m_routes;
    FrameSizes m_network;
    FrameSizes m_nvlink;
    uint32_t m_queuePairs;
    PathSurvey m_survey;
    IdealFct m_ideal;
    std::vector<Source> m_sources; ///< by host
};

} // namespace ns3

#endif /* CONNECTION_PLANNER_H */

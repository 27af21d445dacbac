/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PATH_SURVEY_H
#define PATH_SURVEY_H

#include "path-timing.h"

#include "ns3/clock-range.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/// Number of shortest paths that the frames of one connection take.
enum class PathUse
{
    Fixed,  ///< one, by the hash of the 5-tuple (ECMP)
    InTurn, ///< one at a time (flowlets)
    All,    ///< all, frame by frame (adaptive routing, packet spray)
};

/// Rate and round-trip time of a connection.
struct PathLimits
{
    uint64_t rateBps{0}; ///< most that the links of its paths carry
    int64_t rttPs{0};    ///< of a full frame and its ACK, each over the slowest of the paths
    /// Most that a frame may be overtaken by: a full one on the slowest path and the shortest one
    /// on the fastest; 0 where all frames take one path.
    int64_t spreadPs{0};
    uint64_t slowestBps{0}; ///< of all links on its paths
    int64_t ackWaitPs{0}; ///< most that an ACK waits besides for full frames of data, one per link

    /// @return the bandwidth-delay product: bytes in flight that never limit a lone connection
    uint64_t BdpBytes() const
    {
        return ns3::BdpBytes(rateBps, rttPs);
    }

    /// @return bytes in flight that never limit a connection if its data and ACKs find no queue,
    /// even if the links are as busy in the other direction
    uint64_t WindowBytes() const
    {
        return ns3::BdpBytes(rateBps, AddPs(rttPs, ackWaitPs));
    }
};

/**
 * @ingroup rdma-qbb
 * @brief All the shortest paths from host to host that routing may give the frames of a connection.
 *
 * Windows, bounds on bytes in flight, timeouts and the "ideal" column of fct.txt follow from one
 * survey, so that they agree about the paths. Frames of a queue pair leave by one port of their
 * host; from there on they take one path or all of them.
 */
class PathSurvey
{
  public:
    /// @param routes borrowed @param use how many of the paths a connection takes
    PathSurvey(const FabricRoutes& routes, PathUse use);

    const FabricRoutes& GetRoutes() const
    {
        return m_routes;
    }

    /// @return whether frames of a connection may take different paths
    bool Parts() const
    {
        return m_use != PathUse::Fixed;
    }

    /// @return whether links have the same rates and delays on all paths between two hosts
    bool IsEven() const
    {
        return m_even;
    }

    /// @return whether two connections between the same hosts may have different limits
    bool DependsOnHash() const
    {
        return !m_even && m_use == PathUse::Fixed;
    }

    /**
     * @param src,dst hosts that some path connects
     * @return limits that hold on any port and path of a connection: the rate of the best, the
     * round trip of the slowest
     */
    PathLimits FindLimits(uint32_t src, uint32_t dst, const FrameSizes& sizes) const;

    /// @return for each number of hops from the source, the sum of the rates of all links there
    /// that are on shortest paths from one port of the source; the largest sum of all ports
    std::vector<uint64_t> FindLevels(uint32_t src, uint32_t dst) const;

  private:
    /// Findings about frames that leave by one port of the source.
    struct Walk
    {
        std::vector<uint64_t> levelBps;  ///< all links together, by distance
        uint64_t widestBps{0};           ///< lowest rate of the best path
        int64_t dataPs{0};               ///< of a full frame over the slowest path
        int64_t ackPs{0};                ///< of an acknowledgement
        int64_t soonestPs{0};            ///< of the shortest frame over the fastest path
        uint64_t slowestBps{UINT64_MAX}; ///< of all links
        int64_t fullPs{0};               ///< of a full frame on all links, without their delays
    };

    bool FindEven() const;
    /// @param one follow one path only, which stands for all
    Walk WalkFrom(uint32_t src,
                  uint16_t port,
                  uint32_t dst,
                  const FrameSizes& sizes,
                  bool one) const;

    const FabricRoutes& m_routes;
    PathUse m_use;
    bool m_even;
};

/// The largest values over all pairs of hosts (GLOBAL_T, flowlets).
struct FabricExtremes
{
    int64_t maxBaseRttPs{0}; ///< largest base RTT of two hosts
    uint64_t maxBdpBytes{0}; ///< largest bandwidth-delay product of two hosts
    int64_t maxSpreadPs{0};  ///< largest PathLimits::spreadPs of two hosts
};

/**
 * @return the extremes over the network's pairs; pairs within a server that NVLink connects do not
 * count, as they run no congestion control. Looks at one pair of each two groups of like hosts.
 */
FabricExtremes FindExtremes(const PathSurvey& survey, const FrameSizes& sizes);

} // namespace ns3

#endif /* PATH_SURVEY_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LINK_COUNTING_H
#define LINK_COUNTING_H

#include "link-use.h"

#include <array>
#include <cstdint>
#include <vector>

namespace ns3
{

class RdmaFabric;
class RdmaNic;
class RdmaQueuePair;
struct InNetworkSpec;

/**
 * @ingroup rdma-qbb
 * @brief Counts messages that are being posted, on the links that their frames will take by the
 * routes in force.
 *
 * ECMP's choice is the switches' own; where a switch chooses by frame or by flowlet, the bytes are
 * shared evenly among its ports on shortest paths. Later changes of routes are not followed. The
 * paths of eight connections of each host are remembered; another costs one look at each switch on
 * it, for any number of frames.
 *
 * @code
 * LinkUse use(topology);
 * MessageCounter counter(use, fabric);
 * counter.Count(queuePair, bytes, purpose);
 * @endcode
 */
class MessageCounter
{
  public:
    /// @param use gets the counts @param fabric the queue pairs'; both outlive the object
    MessageCounter(LinkUse& use, const RdmaFabric& fabric);

    /// Counts messages of some hosts only. @param first of them @param count of them
    MessageCounter(LinkUse& use, const RdmaFabric& fabric, uint32_t first, uint32_t count);

    /**
     * Count a message.
     * @param qp a queue pair between two hosts @param bytes of the message
     * @param purpose of the message
     */
    void Count(const RdmaQueuePair& qp, uint64_t bytes, uint16_t purpose);

  private:
    class Walk;

    /// A path without splits that messages took.
    struct Route
    {
        static constexpr uint32_t MAX_LENGTH = 6; ///< links of a path through three tiers

        const RdmaNic* nic{nullptr}; ///< where it begins; null: no path
        uint32_t dst{0};             ///< host
        uint32_t hash{0};            ///< of the queue pairs that take it
        bool chosen{false};          ///< whether it depends on the hash
        uint8_t length{0};
        std::array<uint32_t, MAX_LENGTH> ports; ///< LinkUse::IndexOf()
    };

    static constexpr uint32_t ROUTES_PER_HOST = 8;

    /// @return where a path of a queue pair's messages is remembered
    /// @param hash of the queue pairs that take it; 0 for any
    Route& PlaceOf(const RdmaQueuePair& qp, uint32_t hash);
    /// @return the path of a queue pair's messages if it is remembered, or null
    const Route* FindRoute(const RdmaQueuePair& qp);
    /// Count a message with a path that is not remembered, and remember the path. A function of its
    /// own, so that Count() needs little of the stack.
    [[gnu::noinline]] void CountAnew(const RdmaQueuePair& qp, uint64_t bytes, uint16_t purpose);

    LinkUse& m_use;
    const RdmaFabric& m_fabric;
    uint32_t m_first;            ///< the first source host that it counts
    uint32_t m_version;          ///< of the routes that m_routes follow
    std::vector<Route> m_routes; ///< by source, and a hash of destination and connection
};

/// Count an in-network operation on the links between its members and its switch. @param use gets
/// the counts @param fabric the members' @param spec the operation @param purpose its purpose
void CountOperation(LinkUse& use,
                    const RdmaFabric& fabric,
                    const InNetworkSpec& spec,
                    uint16_t purpose);

} // namespace ns3

#endif /* LINK_COUNTING_H */

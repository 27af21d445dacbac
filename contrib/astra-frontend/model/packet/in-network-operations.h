/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IN_NETWORK_OPERATIONS_H
#define IN_NETWORK_OPERATIONS_H

#include "astra-frontend/model/network/joined-operations.h"

#include "ns3/in-network-engine.h"
#include "ns3/link-use.h"
#include "ns3/rank-network.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>

namespace ns3
{
class RdmaFabric;
}

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Operations that an RdmaFabric's switches carry out, joined by ranks in any order.
 *
 * Every member calls Join() for every operation of its (members, tag); the n-th calls of all
 * members belong together. The switches that can serve a list of members are found once, and again
 * after Forget().
 */
class InNetworkOperations
{
  public:
    /// @param fabric outlives this object @param host one of those that take part
    InNetworkOperations(ns3::RdmaFabric& fabric, uint32_t host);

    /// @return whether switches can carry out operations of @p members
    bool IsSupported(std::span<const int> members);

    /// A rank takes part in an operation.
    /// @return whether it began: switches serve the members, and rank and root are among them
    bool Join(int rank, const JoinRequest& request);

    /// Count operations on the links that they take. @param use outlives the object
    void CountIn(ns3::LinkUse& use)
    {
        m_use = &use;
    }

    /// Links have changed: look for switches anew.
    void Forget();

  private:
    /// @return the switches of a set, or null
    const ns3::InNetworkSpec* FindPlan(const MemberSet& set,
                                       std::span<const int> members,
                                       uint32_t stripe);
    void JoinEngine(uint32_t operation, uint32_t place, MessageHandler handler, void* arg);

    ns3::RdmaFabric& m_fabric;
    ns3::InNetworkEngine& m_engine;
    ns3::LinkUse* m_use{nullptr};
    MemberSets m_sets;
    /// By set and stripe: the switches, or nothing if none serve the members.
    std::map<std::pair<uint32_t, uint32_t>, std::optional<ns3::InNetworkSpec>> m_plans;
    std::map<uint32_t, bool> m_supported;    ///< by set
    JoinedOperations<uint32_t> m_operations; ///< numbers in the engine
};

} // namespace AstraSim

#endif /* IN_NETWORK_OPERATIONS_H */

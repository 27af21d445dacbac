/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IN_NETWORK_QUEUE_H
#define IN_NETWORK_QUEUE_H

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <vector>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief In-network operations that wait until each of their switches has a place for them.
 *
 * An operation takes its places together, so that no two wait for each other. At each switch,
 * operations begin in the order in which they ask.
 */
class InNetworkQueue
{
  public:
    /// @param places of each switch; 0: any number
    explicit InNetworkQueue(uint32_t places = 0)
        : m_places(places)
    {
    }

    bool IsLimited() const
    {
        return m_places > 0;
    }

    /// Take a place at each of some switches. @param begin called with the places, perhaps at once
    void Enter(std::vector<uint32_t> switches, std::function<void()> begin);

    /// Give the places back.
    void Leave(const std::vector<uint32_t>& switches);

  private:
    struct Waiting
    {
        std::vector<uint32_t> switches;
        std::function<void()> begin;
    };

    /// Begin all that can.
    void Admit();

    uint32_t m_places;
    std::map<uint32_t, uint32_t> m_taken; ///< by switch
    std::list<Waiting> m_waiting;         ///< in the order of Enter()
};

} // namespace ns3

#endif /* IN_NETWORK_QUEUE_H */

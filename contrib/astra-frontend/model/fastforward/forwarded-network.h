/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FORWARDED_NETWORK_H
#define FORWARDED_NETWORK_H

#include "astra-frontend/model/network/shared-network.h"
#include "fast-forward.h"

#include "ns3/object-pool.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <memory>
#include <tuple>

namespace AstraSim
{

/// The network of all ranks, with the times of messages from a FastForward.
class ForwardedNetwork : public SharedNetwork
{
  public:
    /// @param inner the network of a rank: its clock and its abilities
    ForwardedNetwork(uint32_t ranks,
                     std::function<RankNetwork&(int)> inner,
                     FastForward& forward,
                     ShapeFinder& shapes);

  private:
    struct Message : NetworkMessage
    {
        Message* next{nullptr};
    };

    /// Source, destination, bytes, channel, latency, inflation, limit.
    using ShapeKey = std::tuple<uint32_t, uint32_t, uint64_t, uint32_t, TimePs, double, uint64_t>;

    TimePs Now() const override;
    void Schedule(TimePs delay, MessageHandler handler, void* arg) override;
    void Send(uint32_t src, const SendRequest& request) override;

    std::optional<std::vector<uint32_t>> FindLinks(int src, int dst, uint32_t channel) override;
    bool Supports(std::span<const int> members) override;
    bool Join(int rank, const JoinRequest& request) override;
    const OperationShape& ShapeOf(const PartOperation& what);
    void SendToSelf(Message* message, TimePs latency);

    std::function<RankNetwork&(int)> m_inner;
    FastForward& m_forward;
    ShapeFinder& m_shapes;
    boost::unordered_flat_map<ShapeKey, std::unique_ptr<OperationShape>> m_known;
    ObjectPool<Message> m_messages;
};

} // namespace AstraSim

#endif /* FORWARDED_NETWORK_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FORWARDING_NETWORK_H
#define FORWARDING_NETWORK_H

#include "rank-network.h"

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief A rank's network that leaves everything to another one; those that change or watch a part
 * of it derive from this class.
 */
class ForwardingNetwork : public RankNetwork
{
  public:
    /// @param network carries the messages; borrowed
    explicit ForwardingNetwork(RankNetwork& network)
        : RankNetwork(network.GetRank()),
          m_network(network)
    {
    }

    int GetSize() const override
    {
        return m_network.GetSize();
    }

    TimePs Now() const override
    {
        return m_network.Now();
    }

    void Schedule(TimePs delay, MessageHandler handler, void* arg) override
    {
        m_network.Schedule(delay, handler, arg);
    }

    void Send(const SendRequest& request) override
    {
        m_network.Send(request);
    }

    void Receive(const ReceiveRequest& request) override
    {
        m_network.Receive(request);
    }

    bool Supports(std::span<const int> members) const override
    {
        return m_network.Supports(members);
    }

    bool Join(const JoinRequest& request) override
    {
        return m_network.Join(request);
    }

    TimePs GetSentTime() const override
    {
        return m_network.GetSentTime();
    }

    bool IsNear(int rank) const override
    {
        return m_network.IsNear(rank);
    }

    void EndStream(MessageStream* stream, bool isSender) override
    {
        m_network.EndStream(stream, isSender);
    }

    bool IsPhysical() const override
    {
        return m_network.IsPhysical();
    }

    void NotifyFinished() override
    {
        m_network.NotifyFinished();
    }

  protected:
    RankNetwork& GetNetwork() const
    {
        return m_network;
    }

  private:
    RankNetwork& m_network;
};

} // namespace AstraSim

#endif /* FORWARDING_NETWORK_H */

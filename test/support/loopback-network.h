/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LOOPBACK_NETWORK_H
#define LOOPBACK_NETWORK_H

#include "ns3/rank-network.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <queue>
#include <tuple>
#include <vector>

namespace AstraSim
{

/**
 * @brief A network in memory for tests: every message takes latency + bytes / bandwidth.
 *
 * Each pair of ranks has a link of its own on which messages follow each other; a sender's buffer
 * is free when its message has arrived. Sizes of sends and receives may split and join.
 *
 * @code
 * LoopbackNetwork network(4, 1000000, 50e9); // 4 ranks, 1 us, 50 GB/s
 * network.At(0).Send({.dst = 1, .tag = 7, .bytes = 100, .handler = handler, .arg = arg});
 * network.Run();
 * @endcode
 */
class LoopbackNetwork
{
  public:
    /**
     * @param ranks number of ranks
     * @param latency of every message, in ps
     * @param bytesPerSecond of every pair of ranks; 0 for infinitely fast
     */
    LoopbackNetwork(int ranks, TimePs latency, double bytesPerSecond)
        : m_latency(latency),
          m_bytesPerSecond(bytesPerSecond)
    {
        for (int rank = 0; rank < ranks; ++rank)
        {
            m_ranks.push_back(std::make_unique<Rank>(*this, rank));
        }
    }

    RankNetwork& At(int rank)
    {
        return *m_ranks[static_cast<std::size_t>(rank)];
    }

    /// Run all events. @return the time of the last
    TimePs Run()
    {
        while (!m_events.empty())
        {
            const Event event = m_events.top();
            m_events.pop();
            m_now = event.time;
            event.handler(event.arg);
        }
        return m_now;
    }

    TimePs Now() const
    {
        return m_now;
    }

    /// From now on messages start when the sender's latency is over.
    void DelayStarts()
    {
        m_delaysStarts = true;
    }

    /// @return messages sent so far
    uint64_t Messages() const
    {
        return m_messages;
    }

    /// @return bytes sent so far
    uint64_t Bytes() const
    {
        return m_bytes;
    }

    /// @return ranks that have called NotifyFinished()
    uint32_t Finished() const
    {
        return m_finished;
    }

    /// @return bytes of all connections that nobody has received
    uint64_t Unreceived() const
    {
        uint64_t bytes = 0;
        for (const auto& [key, connection] : m_connections)
        {
            bytes += connection.arrived;
        }
        return bytes;
    }

  private:
    struct Event
    {
        TimePs time;
        uint64_t order;
        MessageHandler handler;
        void* arg;

        bool operator<(const Event& other) const
        {
            return std::tie(time, order) > std::tie(other.time, other.order);
        }
    };

    struct Receive
    {
        uint64_t bytes;
        MessageHandler handler;
        void* arg;
    };

    struct Connection
    {
        uint64_t arrived{0};
        std::deque<Receive> receives;
    };

    using Key = std::tuple<int, int, int>; ///< source, destination, tag

    struct Delivery
    {
        LoopbackNetwork* network;
        Key key;
        uint64_t bytes;
        MessageHandler sent;
        void* arg;
    };

    class Rank : public RankNetwork
    {
      public:
        Rank(LoopbackNetwork& network, int rank)
            : RankNetwork(rank),
              m_network(network)
        {
        }

        int GetSize() const override
        {
            return static_cast<int>(m_network.m_ranks.size());
        }

        TimePs Now() const override
        {
            return m_network.m_now;
        }

        void Schedule(TimePs delay, MessageHandler handler, void* arg) override
        {
            m_network.Schedule(delay, handler, arg);
        }

        void Send(const SendRequest& request) override
        {
            const bool delays = m_network.m_delaysStarts && request.info;
            m_network.Send({GetRank(), request.dst, request.tag},
                           request.bytes,
                           delays ? request.info->sendLatency : 0,
                           request.handler,
                           request.arg);
        }

        void Receive(const ReceiveRequest& request) override
        {
            auto& connection = m_network.m_connections[{request.src, GetRank(), request.tag}];
            connection.receives.push_back({request.bytes, request.handler, request.arg});
            m_network.Match(connection);
        }

        void NotifyFinished() override
        {
            ++m_network.m_finished;
        }

      private:
        LoopbackNetwork& m_network;
    };

    void Schedule(TimePs delay, MessageHandler handler, void* arg)
    {
        m_events.push({m_now + delay, m_order++, handler, arg});
    }

    void Send(const Key& key, uint64_t bytes, TimePs start, MessageHandler handler, void* arg)
    {
        ++m_messages;
        m_bytes += bytes;
        TimePs& free = m_linkFree[{std::get<0>(key), std::get<1>(key)}];
        const TimePs transfer =
            m_bytesPerSecond > 0
                ? std::llround(static_cast<double>(bytes) * 1e12 / m_bytesPerSecond)
                : 0;
        free = std::max(free, m_now + start) + transfer;
        Schedule(free + m_latency - m_now,
                 &LoopbackNetwork::Deliver,
                 new Delivery{this, key, bytes, handler, arg});
    }

    static void Deliver(void* argument)
    {
        const std::unique_ptr<Delivery> delivery(static_cast<Delivery*>(argument));
        auto& connection = delivery->network->m_connections[delivery->key];
        connection.arrived += delivery->bytes;
        if (delivery->sent)
        {
            delivery->network->Schedule(0, delivery->sent, delivery->arg);
        }
        delivery->network->Match(connection);
    }

    void Match(Connection& connection)
    {
        while (!connection.receives.empty() &&
               connection.receives.front().bytes <= connection.arrived)
        {
            const Receive receive = connection.receives.front();
            connection.receives.pop_front();
            connection.arrived -= receive.bytes;
            if (receive.handler)
            {
                Schedule(0, receive.handler, receive.arg);
            }
        }
    }

    TimePs m_latency;
    double m_bytesPerSecond;
    bool m_delaysStarts{false};
    TimePs m_now{0};
    uint64_t m_order{0};
    uint64_t m_messages{0};
    uint64_t m_bytes{0};
    uint32_t m_finished{0};
    std::priority_queue<Event> m_events;
    std::map<Key, Connection> m_connections;
    std::map<std::pair<int, int>, TimePs> m_linkFree;
    std::vector<std::unique_ptr<Rank>> m_ranks;
};

} // namespace AstraSim

#endif /* LOOPBACK_NETWORK_H */

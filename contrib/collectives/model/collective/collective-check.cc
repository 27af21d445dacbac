/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-check.h"

#include "collective-books.h"
#include "forwarding-network.h"

#include <iterator>
#include <list>
#include <utility>

namespace AstraSim
{

namespace
{

/// A rank's network that enters its messages in the books.
class CheckedNetwork : public ForwardingNetwork
{
  public:
    CheckedNetwork(RankNetwork& network, CollectiveBooks& books, int tagBase)
        : ForwardingNetwork(network),
          m_books(books),
          m_rank(books.IndexOf(network.GetRank())),
          m_tagBase(tagBase)
    {
    }

    void Send(const SendRequest& request) override
    {
        if (!IsCredit(request.info))
        {
            m_books.Sent(m_rank, request.dst, request.tag - m_tagBase, request.bytes);
        }
        GetNetwork().Send(request);
    }

    void Receive(const ReceiveRequest& request) override
    {
        if (IsCredit(request.info))
        {
            GetNetwork().Receive(request);
            return;
        }
        ReceiveRequest checked = request;
        checked.arg = &Add({this,
                            request.src,
                            request.tag - m_tagBase,
                            request.bytes,
                            {},
                            request.handler,
                            request.arg,
                            {}});
        checked.handler = [](void* argument) {
            const Wait wait = static_cast<Wait*>(argument)->Take();
            const CheckedNetwork& self = *wait.network;
            self.m_books.Received(self.m_rank, wait.src, wait.tag, wait.bytes);
            wait.Resume();
        };
        GetNetwork().Receive(checked);
    }

    bool Join(const JoinRequest& request) override
    {
        const int tag = request.tag - m_tagBase;
        const auto joined = m_books.Join(m_rank, request.op, tag, request.bytes);
        JoinRequest checked = request;
        checked.arg =
            &Add({this, -1, tag, request.bytes, joined, request.handler, request.arg, {}});
        checked.handler = [](void* argument) {
            const Wait wait = static_cast<Wait*>(argument)->Take();
            const CheckedNetwork& self = *wait.network;
            self.m_books.JoinEnded(self.m_rank, wait.joined, wait.tag, wait.bytes);
            wait.Resume();
        };
        return GetNetwork().Join(checked);
    }

  private:
    /// @return whether a message is about slots, which are not looked over, and carries no data
    static bool IsCredit(const MessageInfo* info)
    {
        return info && info->isCredit;
    }

    /// A receive that a rank has posted.
    struct Wait
    {
        CheckedNetwork* network;
        int src;
        int tag;
        uint64_t bytes;
        CollectiveBooks::Joined joined;
        MessageHandler handler;
        void* arg;
        std::list<Wait>::iterator place; ///< in the network's list

        /// @return a copy; erases it from the list
        Wait Take() const
        {
            const Wait taken = *this;
            taken.network->m_waits.erase(taken.place);
            return taken;
        }

        void Resume() const
        {
            if (handler)
            {
                handler(arg);
            }
        }
    };

    Wait& Add(const Wait& wait)
    {
        m_waits.push_back(wait);
        m_waits.back().place = std::prev(m_waits.end());
        return m_waits.back();
    }

    CollectiveBooks& m_books;
    uint32_t m_rank;
    int m_tagBase;
    std::list<Wait> m_waits; ///< also those that never end, where a run is stuck
};

/// One rank's part of a collective, with the network that it sees.
class CheckedRank : public RankCollective
{
  public:
    CheckedRank(const CollectivePlan& plan,
                std::shared_ptr<CollectiveBooks> books,
                uint32_t rank,
                RankNetwork& network,
                int tagBase,
                const MessageInfo& info,
                std::function<void(bool isLast)> done)
        : m_books(std::move(books)),
          m_network(network, *m_books, tagBase),
          m_done(std::move(done)),
          m_rank(plan.CreateRank(rank, m_network, tagBase, info, [this, rank] {
              const auto then = std::move(m_done);
              then(m_books->Done(rank)); // may delete this
          }))
    {
    }

    void Start() override
    {
        m_rank->Start();
    }

    std::string DescribeWait() const override
    {
        return m_rank->DescribeWait();
    }

  private:
    std::shared_ptr<CollectiveBooks> m_books;
    CheckedNetwork m_network;
    std::function<void(bool isLast)> m_done;
    std::unique_ptr<RankCollective> m_rank;
};

/// A plan for one collective: plans are made once for all ranks, so it has the books.
class CheckedPlan : public CollectivePlan
{
  public:
    CheckedPlan(std::shared_ptr<const CollectivePlan> plan,
                std::shared_ptr<CollectiveBooks> books,
                uint64_t& checked)
        : CollectivePlan(plan->GetChoice()),
          m_plan(std::move(plan)),
          m_books(std::move(books)),
          m_checked(checked)
    {
    }

    TimedGraph GetGraph() const override
    {
        return m_plan->GetGraph();
    }

    std::unique_ptr<RankCollective> CreateRank(uint32_t rankIndex,
                                               RankNetwork& network,
                                               int tagBase,
                                               const MessageInfo& info,
                                               std::function<void()> done) const override
    {
        return std::make_unique<CheckedRank>(
            *m_plan,
            m_books,
            rankIndex,
            network,
            tagBase,
            info,
            [&checked = m_checked, done = std::move(done)](bool isLast) {
                checked += isLast;
                done();
            });
    }

  private:
    std::shared_ptr<const CollectivePlan> m_plan;
    std::shared_ptr<CollectiveBooks> m_books;
    uint64_t& m_checked;
};

} // namespace

/// Plans collectives as another implementation does, and has each message checked.
class CollectiveCheck::Watched : public CollectiveImplementation
{
  public:
    Watched(CollectiveImplementation& implementation, CollectiveCheck& check)
        : m_implementation(implementation),
          m_check(check)
    {
    }

    std::shared_ptr<const CollectivePlan> Plan(const CommGroup& group,
                                               const CollectiveRequest& request) override
    {
        auto plan = m_implementation.Plan(group, request);
        if (plan->ChecksItself())
        {
            return plan;
        }
        auto books = std::make_shared<CollectiveBooks>(group,
                                                       request,
                                                       plan->GetGraph().graph.get(),
                                                       plan->GetChoice().algorithm,
                                                       m_check.m_report);
        if (plan->GetChoice().algorithm == "Custom")
        {
            books->DemandNothing();
        }
        return std::make_shared<CheckedPlan>(std::move(plan), std::move(books), m_check.m_checked);
    }

  private:
    CollectiveImplementation& m_implementation;
    CollectiveCheck& m_check;
};

CollectiveImplementation&
CollectiveCheck::Watch(CollectiveImplementation& implementation)
{
    auto& watched = m_watched[&implementation];
    if (!watched)
    {
        watched = std::make_unique<Watched>(implementation, *this);
    }
    return *watched;
}

} // namespace AstraSim

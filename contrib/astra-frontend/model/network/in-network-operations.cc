/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "in-network-operations.h"

#include "ns3/simulator.h"

#include <algorithm>

namespace AstraSim
{

namespace
{

ns3::InNetworkKind
KindOf(InNetworkOp op)
{
    switch (op)
    {
    case InNetworkOp::Reduce:
        return ns3::InNetworkKind::Reduce;
    case InNetworkOp::Multicast:
        return ns3::InNetworkKind::Multicast;
    default:
        return ns3::InNetworkKind::ReduceMulticast;
    }
}

} // namespace

InNetworkOperations::InNetworkOperations(ns3::RdmaFabric& fabric)
    : m_fabric(fabric)
{
}

bool
InNetworkOperations::ByContent::operator()(std::span<const int> a, std::span<const int> b) const
{
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

InNetworkOperations::MemberSet&
InNetworkOperations::FindSet(std::span<const int> members)
{
    const auto found = m_sets.find(members);
    if (found != m_sets.end())
    {
        return found->second;
    }
    MemberSet& set = m_sets[{members.begin(), members.end()}];
    set.number = static_cast<uint32_t>(m_sets.size());
    for (const int member : members)
    {
        set.places.emplace(member, static_cast<uint32_t>(set.places.size()));
    }
    return set;
}

const ns3::InNetworkSpec*
InNetworkOperations::FindPlan(MemberSet& set, std::span<const int> members, uint32_t stripe)
{
    const auto [it, isNew] = set.plans.try_emplace(stripe);
    if (isNew)
    {
        ns3::InNetworkSpec spec;
        if (m_fabric.PlanInNetwork({members.begin(), members.end()}, stripe, spec))
        {
            it->second = std::move(spec);
        }
    }
    return it->second ? &*it->second : nullptr;
}

void
InNetworkOperations::Forget()
{
    for (auto& [members, set] : m_sets)
    {
        set.plans.clear();
    }
}

bool
InNetworkOperations::IsSupported(std::span<const int> members)
{
    return FindPlan(FindSet(members), members, 0) != nullptr;
}

int
InNetworkOperations::Join(int rank,
                          InNetworkOp op,
                          std::span<const int> members,
                          int root,
                          uint64_t bytes,
                          int tag,
                          const sim_request* request,
                          MessageHandler handler,
                          void* arg)
{
    MemberSet& set = FindSet(members);
    const auto place = set.places.find(rank);
    const auto rootPlace = set.places.find(root);
    const ns3::InNetworkSpec* plan = FindPlan(set, members, request ? request->channel : 0);
    if (!plan || place == set.places.end() || rootPlace == set.places.end())
    {
        return -1;
    }
    const auto it = m_queues.try_emplace({set.number, tag}).first;
    OperationQueue& queue = it->second;
    queue.nextOf.resize(members.size());
    const uint64_t position = queue.nextOf[place->second]++ - queue.first;
    if (position == queue.operations.size())
    {
        ns3::InNetworkSpec spec = *plan;
        spec.kind = KindOf(op);
        spec.root = rootPlace->second;
        spec.bytes = bytes;
        spec.rateCapBps = request ? request->rateCapBps : 0;
        queue.operations.push_back(m_fabric.GetInNetworkEngine().Open(std::move(spec)));
        queue.joined.push_back(0);
    }
    const uint32_t operation = queue.operations[position];
    ++queue.joined[position];
    while (!queue.joined.empty() && queue.joined.front() == members.size())
    {
        queue.operations.pop_front();
        queue.joined.pop_front();
        ++queue.first;
    }
    if (queue.operations.empty())
    {
        m_queues.erase(it); // every member has joined as often as every other
    }
    if (request && request->sendLatency > 0)
    {
        ns3::Simulator::Schedule(ns3::PicoSeconds(request->sendLatency),
                                 &InNetworkOperations::JoinEngine,
                                 this,
                                 operation,
                                 place->second,
                                 handler,
                                 arg);
    }
    else
    {
        JoinEngine(operation, place->second, handler, arg);
    }
    return 0;
}

void
InNetworkOperations::JoinEngine(uint32_t operation,
                                uint32_t place,
                                MessageHandler handler,
                                void* arg)
{
    std::function<void()> done;
    if (handler)
    {
        done = [handler, arg] { handler(arg); };
    }
    m_fabric.GetInNetworkEngine().Join(operation, place, std::move(done));
}

} // namespace AstraSim

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "in-network-operations.h"

#include "ns3/link-counting.h"
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

const ns3::InNetworkSpec*
InNetworkOperations::FindPlan(const MemberSet& set, std::span<const int> members, uint32_t stripe)
{
    const auto [it, isNew] = m_plans.try_emplace({set.number, stripe});
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
    m_plans.clear();
}

bool
InNetworkOperations::IsSupported(std::span<const int> members)
{
    return FindPlan(m_sets.Find(members), members, 0) != nullptr;
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
    const MemberSet& set = m_sets.Find(members);
    const auto place = set.places.find(rank);
    const auto rootPlace = set.places.find(root);
    const ns3::InNetworkSpec* plan = FindPlan(set, members, request ? request->channel : 0);
    if (!plan || place == set.places.end() || rootPlace == set.places.end())
    {
        return -1;
    }
    const uint32_t operation = m_operations.Join(set, tag, place->second, [&] {
        ns3::InNetworkSpec spec = *plan;
        spec.kind = KindOf(op);
        spec.root = rootPlace->second;
        spec.bytes = bytes;
        spec.rateCapBps = request ? request->rateCapBps : 0;
        if (m_use)
        {
            ns3::CountOperation(*m_use, m_fabric, spec, request ? request->purpose : 0);
        }
        return m_fabric.GetInNetworkEngine().Open(std::move(spec));
    });
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

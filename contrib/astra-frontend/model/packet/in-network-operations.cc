/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "in-network-operations.h"

#include "ns3/link-counting.h"
#include "ns3/rdma-fabric.h"
#include "ns3/simulator.h"

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

InNetworkOperations::InNetworkOperations(ns3::RdmaFabric& fabric, uint32_t host)
    : m_fabric(fabric),
      m_engine(fabric.GetInNetworkEngine(host))
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
    m_supported.clear();
}

bool
InNetworkOperations::IsSupported(std::span<const int> members)
{
    const auto [it, isNew] = m_supported.try_emplace(m_sets.Find(members).number);
    if (isNew)
    {
        it->second = m_fabric.GetInNetworkPlanner().CanServe({members.begin(), members.end()});
    }
    return it->second;
}

bool
InNetworkOperations::Join(int rank, const JoinRequest& request)
{
    const MemberSet& set = m_sets.Find(request.members);
    const auto place = set.places.find(rank);
    const auto root = set.places.find(request.root);
    const MessageInfo* info = request.info;
    const ns3::InNetworkSpec* plan = FindPlan(set, request.members, info ? info->channel : 0);
    if (!plan || place == set.places.end() || root == set.places.end())
    {
        return false;
    }
    const uint32_t operation = m_operations.Join(set, request.tag, place->second, [&] {
        ns3::InNetworkSpec spec = *plan;
        spec.kind = KindOf(request.op);
        spec.root = root->second;
        spec.bytes = request.bytes;
        spec.rateCapBps = info ? info->rateCapBps : 0;
        spec.wireInflation = info ? info->wireInflation : 1;
        if (m_use)
        {
            ns3::CountOperation(*m_use, m_fabric, spec, info ? info->purpose : 0);
        }
        return m_engine.Open(std::move(spec));
    });
    if (info && info->sendLatency > 0)
    {
        ns3::Simulator::Schedule(ns3::PicoSeconds(info->sendLatency),
                                 &InNetworkOperations::JoinEngine,
                                 this,
                                 operation,
                                 place->second,
                                 request.handler,
                                 request.arg);
    }
    else
    {
        JoinEngine(operation, place->second, request.handler, request.arg);
    }
    return true;
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
    m_engine.Join(operation, place, std::move(done));
}

} // namespace AstraSim

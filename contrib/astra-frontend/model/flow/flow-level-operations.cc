/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * FlowLevelFabric: operations that an NVSwitch carries out. Contributions and results are streams
 * over one link each. Results begin when the last contribution does, a frame later, and end when
 * both they and the slowest contribution have passed.
 */
#include "flow-level-network.h"
#include "flow-level-operation.h"

#include "ns3/clock-range.h"

#include <algorithm>
#include <cmath>

namespace AstraSim
{

namespace
{

/// @return a path of one link
ns3::PathInfo
OneLink(const ns3::ClusterTopology& topology, uint32_t directedLink)
{
    const uint32_t index = directedLink / 2;
    const auto& link = topology.links[index];
    const bool fromB = directedLink % 2;
    return {{{fromB ? link.b : link.a,
              fromB ? link.portB : link.portA,
              index,
              link.rateBps,
              link.delayPs}},
            link.delayPs,
            link.rateBps};
}

} // namespace

const FlowLevelFabric::SwitchPorts*
FlowLevelFabric::FindPorts(const MemberSet& set, std::span<const int> members, uint32_t stripe)
{
    const auto [it, isNew] = m_switchPorts.try_emplace({set.number, stripe});
    if (isNew && !m_router.FindNvSwitch(members, stripe, it->second))
    {
        it->second.clear();
    }
    return it->second.empty() ? nullptr : &it->second;
}

bool
FlowLevelFabric::Supports(std::span<const int> members)
{
    return FindPorts(m_memberSets.Find(members), members, 0) != nullptr;
}

FlowLevelFabric::Operation*
FlowLevelFabric::OpenOperation(const JoinRequest& request,
                               const std::vector<FlowRouter::SwitchPort>& ports,
                               uint32_t root)
{
    Operation* operation;
    if (m_freeOperations.empty())
    {
        m_allOperations.push_back(std::make_unique<Operation>());
        operation = m_allOperations.back().get();
    }
    else
    {
        operation = m_freeOperations.back();
        m_freeOperations.pop_back();
    }
    *operation = Operation();
    operation->fabric = this;
    operation->kind = request.op;
    operation->root = root;
    operation->bytes = request.bytes;
    operation->frames = m_config.nvlinkFrames;
    if (request.info)
    {
        operation->rateCapBps = request.info->rateCapBps;
        operation->purpose = request.info->purpose;
        operation->frames.dataOverhead += static_cast<uint32_t>(
            std::lround((request.info->wireInflation - 1) * operation->frames.mtuPayload));
    }
    operation->members.resize(ports.size());
    for (uint32_t member = 0; member < ports.size(); ++member)
    {
        operation->members[member].port = ports[member];
        operation->members[member].host = static_cast<uint32_t>(request.members[member]);
        operation->toJoin += operation->Sends(member);
    }
    operation->contributing = operation->toJoin;
    operation->unfinished = static_cast<uint32_t>(ports.size());
    return operation;
}

bool
FlowLevelFabric::Join(int rank, const JoinRequest& request)
{
    const MemberSet& set = m_memberSets.Find(request.members);
    const auto place = set.places.find(rank);
    const auto root = set.places.find(request.root);
    const auto* ports = FindPorts(set, request.members, request.info ? request.info->channel : 0);
    if (!ports || place == set.places.end() || root == set.places.end())
    {
        return false;
    }
    Operation& operation = *m_operations.Join(set, request.tag, place->second, [&] {
        return OpenOperation(request, *ports, root->second);
    });
    if (request.info && request.info->sendLatency > 0)
    {
        m_loop.Schedule(request.info->sendLatency,
                        [this,
                         &operation,
                         member = place->second,
                         handler = request.handler,
                         arg = request.arg] { JoinOperation(operation, member, handler, arg); });
    }
    else
    {
        JoinOperation(operation, place->second, request.handler, request.arg);
    }
    return true;
}

void
FlowLevelFabric::JoinOperation(Operation& operation,
                               uint32_t index,
                               MessageHandler handler,
                               void* arg)
{
    Operation::Member& member = operation.members[index];
    member.joined = true;
    member.handler = handler;
    member.arg = arg;
    if (operation.Sends(index))
    {
        CountStream(operation, member.port.up, member.host, operation.members[operation.root].host);
        Stream(operation, index, member.port.up, [](void* arg) {
            auto* part = static_cast<Part*>(arg);
            part->fabric->m_loop.Schedule(
                part->tail,
                [](void* arg) {
                    auto* arrived = static_cast<Part*>(arg);
                    arrived->fabric->OnContributionArrived(arrived);
                },
                part);
        });
        if (--operation.toJoin == 0)
        {
            const uint32_t first = static_cast<uint32_t>(
                std::min<uint64_t>(operation.bytes, operation.frames.mtuPayload));
            const TimePs oneFrame = ns3::OneWayPs(OneLink(GetTopology(), member.port.up),
                                                  operation.frames.DataWireBytes(first));
            m_loop.Schedule(
                oneFrame,
                [](void* arg) {
                    auto* begun = static_cast<Operation*>(arg);
                    begun->fabric->StartResults(*begun);
                },
                &operation);
        }
    }
    else if (member.complete)
    {
        m_loop.Schedule(0, [this, &operation, index] { FinishMember(operation, index); });
    }
}

void
FlowLevelFabric::CountStream(const Operation& operation,
                             uint32_t directedLink,
                             uint32_t src,
                             uint32_t dst)
{
    if (m_use)
    {
        const ns3::PathHop hop = OneLink(GetTopology(), directedLink).hops.front();
        // What the protocol adds counts as with messages, whose bytes are those on the wire.
        const uint64_t mtu = operation.frames.mtuPayload;
        const uint64_t added = (operation.bytes + mtu - 1) / mtu *
                               (operation.frames.dataOverhead - m_config.nvlinkFrames.dataOverhead);
        m_use->Add(hop.node, hop.port, src, dst, operation.bytes + added, operation.purpose);
    }
}

void
FlowLevelFabric::Stream(Operation& operation,
                        uint32_t member,
                        uint32_t directedLink,
                        FluidTransfer::Handler onReached)
{
    Part* part = m_parts.Take();
    part->fabric = this;
    part->operation = &operation;
    part->member = member;
    part->bytes = operation.bytes;
    const ns3::PathInfo path = OneLink(GetTopology(), directedLink);
    const MaxMinSolver::Use use[] = {{directedLink, 1}};
    FluidTransfers::Request request;
    request.uses = use;
    Time(*part, path, operation.frames, operation.rateCapBps, request);
    part->ackDelay = ns3::OneWayPs(path, operation.frames.ackWireBytes);
    request.onReached = onReached;
    request.onDrained = [](void* arg) {
        auto* left = static_cast<Part*>(arg);
        left->left = true;
        left->fabric->Release(left);
    };
    request.owner = part;
    m_transfers.Start(request);
}

void
FlowLevelFabric::StartResults(Operation& operation)
{
    for (uint32_t member = 0; member < operation.members.size(); ++member)
    {
        if (operation.Receives(member))
        {
            CountStream(operation,
                        operation.members[member].port.down,
                        operation.members[operation.root].host,
                        operation.members[member].host);
            Stream(operation, member, operation.members[member].port.down, [](void* arg) {
                auto* part = static_cast<Part*>(arg);
                part->fabric->m_loop.Schedule(
                    part->tail,
                    [](void* arg) {
                        auto* arrived = static_cast<Part*>(arg);
                        arrived->fabric->OnResultArrived(arrived);
                    },
                    part);
            });
        }
    }
}

void
FlowLevelFabric::OnContributionArrived(Part* part)
{
    Operation& operation = *part->operation;
    const uint32_t sender = part->member;
    const TimePs ackDelay = part->ackDelay;
    part->acknowledged = true;
    Release(part);
    if (!operation.Receives(sender))
    {
        m_loop.Schedule(ackDelay, [this, &operation, sender] { FinishMember(operation, sender); });
    }
    if (--operation.contributing > 0)
    {
        return;
    }
    // Results that were held up by this contribution follow its last frame.
    const uint64_t rest = operation.bytes % operation.frames.mtuPayload;
    const uint32_t last = static_cast<uint32_t>(rest ? rest : operation.frames.mtuPayload);
    for (uint32_t index = 0; index < operation.members.size(); ++index)
    {
        const Operation::Member& member = operation.members[index];
        if (member.streamArrived)
        {
            m_loop.Schedule(ns3::OneWayPs(OneLink(GetTopology(), member.port.down),
                                          operation.frames.DataWireBytes(last)),
                            [this, &operation, index] { FinishMember(operation, index); });
        }
    }
}

void
FlowLevelFabric::OnResultArrived(Part* part)
{
    Operation& operation = *part->operation;
    const uint32_t member = part->member;
    part->acknowledged = true;
    Release(part);
    if (operation.contributing > 0)
    {
        operation.members[member].streamArrived = true;
    }
    else
    {
        FinishMember(operation, member);
    }
}

void
FlowLevelFabric::FinishMember(Operation& operation, uint32_t index)
{
    Operation::Member& member = operation.members[index];
    member.complete = true;
    if (!member.joined)
    {
        return; // it has not asked yet
    }
    const MessageHandler handler = member.handler;
    void* arg = member.arg;
    if (--operation.unfinished == 0)
    {
        m_freeOperations.push_back(&operation);
    }
    if (handler)
    {
        handler(arg);
    }
}

} // namespace AstraSim

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "in-network-engine.h"

#include "rdma-hw.h"
#include "switch-node.h"

#include "ns3/assert.h"
#include "ns3/simulator.h"

#include <algorithm>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(InNetworkEngine);

/// An operation in progress; byte counts per member, in the order of InNetworkSpec::members.
struct InNetworkEngine::Operation
{
    struct Progress
    {
        uint64_t contributed{0};
        uint64_t received{0};
        bool joined{false};
        bool done{false};
        std::function<void()> onDone;
    };

    InNetworkSpec spec;
    std::vector<Progress> progress;
    uint64_t emitted{0};
    uint32_t atLeast{0}; ///< senders whose contribution is beyond emitted
    uint32_t doneCount{0};

    bool Sends(uint32_t member) const
    {
        return spec.kind != InNetworkKind::Multicast || member == spec.root;
    }

    bool Receives(uint32_t member) const
    {
        return spec.kind != InNetworkKind::Reduce || member == spec.root;
    }

    uint32_t Senders() const
    {
        return spec.kind == InNetworkKind::Multicast ? 1
                                                     : static_cast<uint32_t>(spec.members.size());
    }
};

TypeId
InNetworkEngine::GetTypeId()
{
    static TypeId tid = TypeId("ns3::InNetworkEngine")
                            .SetParent<Object>()
                            .SetGroupName("RdmaQbb")
                            .AddConstructor<InNetworkEngine>();
    return tid;
}

InNetworkEngine::InNetworkEngine() = default;

InNetworkEngine::~InNetworkEngine() = default;

uint32_t
InNetworkEngine::Open(InNetworkSpec spec)
{
    uint32_t index;
    if (m_free.empty())
    {
        index = static_cast<uint32_t>(m_operations.size());
        m_operations.push_back(std::make_unique<Operation>());
    }
    else
    {
        index = m_free.back();
        m_free.pop_back();
    }
    Operation& operation = *m_operations[index];
    operation = Operation();
    operation.progress.resize(spec.members.size());
    operation.spec = std::move(spec);
    ++m_openCount;
    return index;
}

void
InNetworkEngine::Join(uint32_t index, uint32_t member, std::function<void()> done)
{
    Operation& operation = *m_operations[index];
    NS_ASSERT_MSG(!operation.progress[member].joined, "a member joins once");
    operation.progress[member].joined = true;
    operation.progress[member].onDone = std::move(done);
    if (operation.Sends(member))
    {
        Send(operation, index, member);
    }
    else if (operation.progress[member].received == operation.spec.bytes)
    {
        // Never from inside the call: who joins may not be ready to be called back.
        Simulator::ScheduleNow(
            [this, index, member] { MemberDone(*m_operations[index], index, member); });
    }
}

void
InNetworkEngine::Send(Operation& operation, uint32_t index, uint32_t member)
{
    const InNetworkMember& who = operation.spec.members[member];
    RdmaQueuePairConfig config;
    config.nic = who.nic;
    config.priority = operation.spec.priority;
    config.lossless = true;
    config.closeWhenDone = true;
    config.rateCapBps = operation.spec.rateCapBps;
    config.inNetworkOperation = index;
    config.inNetworkMember = static_cast<uint16_t>(member);
    RdmaQueuePair* qp = who.host->Connect(config);
    std::function<void()> sent;
    if (!operation.Receives(member))
    {
        sent = [this, index, member] { MemberDone(*m_operations[index], index, member); };
    }
    who.host->PostMessage(*qp, operation.spec.bytes, std::move(sent), nullptr);
}

void
InNetworkEngine::OnSwitchFrame(SwitchNode& node, QbbFrame* frame, int64_t nowPs)
{
    const uint32_t index = frame->qpn;
    const uint32_t member = frame->dport;
    const uint16_t inPort = frame->inPort;
    Operation& operation = *m_operations[index];
    Operation::Progress& progress = operation.progress[member];
    if (frame->seq != progress.contributed)
    {
        node.GetPort(inPort).GetPool().Free(frame); // not the next of an ordered stream
        return;
    }
    const bool wasBehind = progress.contributed == operation.emitted;
    progress.contributed += frame->payloadBytes;
    const bool complete = progress.contributed == operation.spec.bytes;

    if (wasBehind && ++operation.atLeast == operation.Senders())
    {
        Emit(operation, index, nowPs);
    }
    // Once the whole contribution is in, the frame goes back as its acknowledgement, after the
    // result.
    if (complete)
    {
        node.AcknowledgeContribution(frame, frame->seq + frame->payloadBytes, nowPs);
    }
    else
    {
        node.GetPort(inPort).GetPool().Free(frame);
    }
}

void
InNetworkEngine::Emit(Operation& operation, uint32_t index, int64_t nowPs)
{
    uint64_t ready = UINT64_MAX;
    for (uint32_t member = 0; member < operation.progress.size(); ++member)
    {
        if (operation.Sends(member))
        {
            ready = std::min(ready, operation.progress[member].contributed);
        }
    }
    const uint32_t mtu = operation.spec.members[0].host->GetMtu();
    while (operation.emitted < ready)
    {
        const auto payload =
            static_cast<uint16_t>(std::min<uint64_t>(mtu, ready - operation.emitted));
        operation.emitted += payload;
        for (uint32_t member = 0; member < operation.progress.size(); ++member)
        {
            if (operation.Receives(member))
            {
                EmitTo(operation, index, member, payload, nowPs);
            }
        }
    }
    operation.atLeast = 0;
    for (uint32_t member = 0; member < operation.progress.size(); ++member)
    {
        if (operation.Sends(member) && operation.progress[member].contributed > operation.emitted)
        {
            ++operation.atLeast;
        }
    }
}

void
InNetworkEngine::EmitTo(Operation& operation,
                        uint32_t index,
                        uint32_t member,
                        uint16_t payload,
                        int64_t nowPs)
{
    const InNetworkMember& who = operation.spec.members[member];
    QbbFrame* frame = operation.spec.node->GetPort(who.switchPort).GetPool().Allocate();
    frame->kind = QbbFrameKind::Data;
    frame->flags = QBB_FLAG_MULTICAST;
    frame->seq = operation.emitted - payload;
    frame->payloadBytes = payload;
    frame->dst = who.host->GetHostIndex();
    frame->qpn = index;
    frame->dport = static_cast<uint16_t>(member);
    frame->priority = operation.spec.priority;
    frame->wireBytes = who.host->GetDataWireBytes(payload, true);
    operation.spec.node->ForwardResult(frame, who.switchPort, nowPs);
}

void
InNetworkEngine::OnHostFrame(const RdmaHw& host, const QbbFrame& frame)
{
    const uint32_t index = frame.qpn;
    const uint32_t member = frame.dport;
    Operation& operation = *m_operations[index];
    Operation::Progress& progress = operation.progress[member];
    progress.received += frame.payloadBytes;
    if (progress.received == operation.spec.bytes && progress.joined)
    {
        MemberDone(operation, index, member);
    }
}

void
InNetworkEngine::MemberDone(Operation& operation, uint32_t index, uint32_t member)
{
    Operation::Progress& progress = operation.progress[member];
    progress.done = true;
    const auto onDone = std::move(progress.onDone);
    if (++operation.doneCount == operation.progress.size())
    {
        --m_openCount;
        m_free.push_back(index);
    }
    if (onDone)
    {
        onDone();
    }
}

} // namespace ns3

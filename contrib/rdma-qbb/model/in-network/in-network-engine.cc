/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "in-network-engine.h"

#include "ns3/assert.h"
#include "ns3/log.h"
#include "ns3/rdma-hw.h"
#include "ns3/simulator.h"
#include "ns3/switch-node.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("InNetworkEngine");

// Switches form a tree, and each counts bytes, not data. A switch keeps the number of bytes that
// each sender below, a member or a switch, has contributed. When the slowest sender moves on
// (Stage::atLeast tells without a search), Emit() sends the new bytes as frames up to the parent
// or, at the root, down again. SendDown() copies each frame to all receivers of the switch,
// members and switches; switches below do the same (OnResult). A member is done when it has
// received all bytes, or for one that only sends, when the switch has acknowledged its whole
// contribution: the switch turns the last frame into that acknowledgement, after the result.

NS_OBJECT_ENSURE_REGISTERED(InNetworkEngine);

/**
 * An operation in progress. Each partner of a switch has a number: members theirs, switch s the
 * number of members plus s.
 */
struct InNetworkEngine::Operation
{
    /// @return bytes of a frame that @p inflation adds; bytes without room in a queue pair are left
    /// out
    static uint16_t MoreOverhead(double inflation, uint32_t mtu)
    {
        constexpr long MOST = std::numeric_limits<uint16_t>::max();
        return static_cast<uint16_t>(std::clamp(std::lround((inflation - 1) * mtu), 0L, MOST));
    }

    struct Progress
    {
        uint64_t received{0};
        bool joined{false};
        bool done{false};
        std::function<void()> onDone;
    };

    /// A receiver of a switch's result.
    struct Receiver
    {
        uint32_t number;
        uint32_t dst;  ///< host index; UINT32_MAX for a switch
        uint16_t port; ///< the switch's port to it
    };

    /// A switch's part.
    struct Stage
    {
        std::vector<uint32_t> senders;   ///< numbers of those below that contribute
        std::vector<Receiver> receivers; ///< those below that get the result
        uint64_t emitted{0};
        std::size_t atLeast{0}; ///< senders with a contribution beyond emitted
    };

    InNetworkSpec spec;
    // The sizes of frames, which switches get with the operation, so that they ask no host.
    uint32_t mtu;                   ///< payload bytes of a full frame
    uint16_t moreOverhead;          ///< bytes of its frames besides those of other NVLink traffic
    uint32_t fullWireBytes;         ///< its bytes on the wire
    uint32_t leastWireBytes;        ///< of the smallest frame
    std::vector<Progress> progress; ///< by member; only its host changes it
    std::vector<uint64_t> contributed; ///< by sender; only the receiving switch changes it
    std::vector<Stage> stages;         ///< by switch; only this switch changes it
    uint32_t joinedCount{0};           ///< counted where operations wait for places
    uint32_t doneCount{0};

    explicit Operation(InNetworkSpec theSpec)
        : spec(std::move(theSpec)),
          mtu(spec.members[0].host->GetMtu()),
          moreOverhead(MoreOverhead(spec.wireInflation, mtu)),
          fullWireBytes(spec.members[0].host->GetDataWireBytes(mtu, spec.nvlink) + moreOverhead),
          leastWireBytes(spec.members[0].host->GetDataWireBytes(0, spec.nvlink) + moreOverhead),
          progress(spec.members.size()),
          contributed(spec.members.size() + spec.switches.size()),
          stages(spec.switches.size())
    {
        for (uint32_t member = 0; member < spec.members.size(); ++member)
        {
            const uint32_t at = spec.members[member].at;
            if (Sends(member))
            {
                AddOnce(&Stage::senders, at, member);
            }
            if (Receives(member))
            {
                AddOnce(&Stage::receivers, at, member);
            }
        }
    }

    bool Sends(uint32_t member) const
    {
        return spec.kind != InNetworkKind::Multicast || member == spec.root;
    }

    bool Receives(uint32_t member) const
    {
        return spec.kind != InNetworkKind::Reduce || member == spec.root;
    }

    /// @return ns-3's numbers of the switches
    std::vector<uint32_t> SwitchIds() const
    {
        std::vector<uint32_t> ids;
        for (const InNetworkSwitch& each : spec.switches)
        {
            ids.push_back(each.node->GetId());
        }
        return ids;
    }

    /// @return bytes on the wire of a frame
    uint32_t WireBytesOf(uint32_t payload) const
    {
        return std::max(payload + fullWireBytes - mtu, leastWireBytes);
    }

    /// @return the switch to which @p number sends
    uint32_t SwitchOf(uint32_t number) const
    {
        const auto members = static_cast<uint32_t>(spec.members.size());
        return number < members ? spec.members[number].at : spec.switches[number - members].parent;
    }

  private:
    static uint32_t NumberOf(uint32_t number)
    {
        return number;
    }

    static uint32_t NumberOf(const Receiver& receiver)
    {
        return receiver.number;
    }

    void Append(std::vector<uint32_t>& senders, uint32_t number) const
    {
        senders.push_back(number);
    }

    void Append(std::vector<Receiver>& receivers, uint32_t number) const
    {
        const auto members = static_cast<uint32_t>(spec.members.size());
        if (number < members)
        {
            const InNetworkMember& member = spec.members[number];
            receivers.push_back({number, member.GetHostIndex(), member.switchPort});
        }
        else
        {
            receivers.push_back({number, UINT32_MAX, spec.switches[number - members].parentPort});
        }
    }

    /// List @p number at a switch, and the switch at those above it.
    template <typename T>
    void AddOnce(std::vector<T> Stage::*list, uint32_t at, uint32_t number)
    {
        auto& entries = stages[at].*list;
        const auto isSame = [number](const T& entry) { return NumberOf(entry) == number; };
        if (std::ranges::find_if(entries, isSame) != entries.end())
        {
            return;
        }
        Append(entries, number);
        if (at != 0)
        {
            AddOnce(list,
                    spec.switches[at].parent,
                    static_cast<uint32_t>(spec.members.size()) + at);
        }
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
InNetworkMember::GetHostIndex() const
{
    return host->GetHostIndex();
}

uint32_t
InNetworkEngine::Open(InNetworkSpec spec)
{
    uint32_t index;
    if (m_free.empty())
    {
        index = static_cast<uint32_t>(m_operations.size());
        m_operations.emplace_back();
    }
    else
    {
        index = m_free.back();
        m_free.pop_back();
    }
    NS_ASSERT_MSG(spec.members.size() + spec.switches.size() <= UINT16_MAX,
                  "frames carry numbers of 16 bits");
    m_operations[index] = std::make_unique<Operation>(std::move(spec));
    ++m_openCount;
    NS_LOG_INFO("operation " << index << " opens: " << m_operations[index]->spec.members.size()
                             << " members, " << m_operations[index]->spec.bytes << " bytes");
    return index;
}

void
InNetworkEngine::Join(uint32_t index, uint32_t member, std::function<void()> done)
{
    Operation& operation = *m_operations[index];
    NS_ASSERT_MSG(!operation.progress[member].joined, "a member joins once");
    operation.progress[member].joined = true;
    operation.progress[member].onDone = std::move(done);
    NS_LOG_LOGIC("member " << member << " joins operation " << index);
    if (!IsQueued(operation))
    {
        Begin(operation, index, member);
    }
    else if (++operation.joinedCount == operation.progress.size())
    {
        m_queue.Enter(operation.SwitchIds(), [this, &operation, index] {
            for (uint32_t each = 0; each < operation.progress.size(); ++each)
            {
                Begin(operation, index, each);
            }
        });
    }
}

bool
InNetworkEngine::IsQueued(const Operation& operation) const
{
    return m_queue.IsLimited() && !operation.spec.nvlink;
}

void
InNetworkEngine::Begin(Operation& operation, uint32_t index, uint32_t member)
{
    if (operation.Sends(member))
    {
        Send(operation, index, member);
    }
    else if (operation.progress[member].received == operation.spec.bytes)
    {
        // Never from inside the call: the caller may not be ready to be called back.
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
    config.networkFrames = !operation.spec.nvlink;
    config.closeWhenDone = true;
    config.rateCapBps = operation.spec.rateCapBps;
    config.moreOverhead = operation.moreOverhead;
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
    m_payload.taken += frame->payloadBytes;
    if (frame->flags & QBB_FLAG_MULTICAST)
    {
        OnResult(node, frame, nowPs);
    }
    else
    {
        OnContribution(node, frame, nowPs);
    }
}

void
InNetworkEngine::OnContribution(SwitchNode& node, QbbFrame* frame, int64_t nowPs)
{
    const uint32_t index = frame->operation;
    const uint32_t sender = frame->member;
    QbbFramePool& pool = node.GetPort(frame->inPort).GetPool();
    Operation& operation = *m_operations[index];
    uint64_t& contributed = operation.contributed[sender];
    if (frame->seq != contributed)
    {
        NS_LOG_LOGIC("operation " << index << " drops byte " << frame->seq << " of sender "
                                  << sender << "; expected " << contributed);
        pool.Free(frame); // not the next of an ordered stream
        return;
    }
    const uint32_t at = operation.SwitchOf(sender);
    Operation::Stage& stage = operation.stages[at];
    const bool wasBehind = contributed == stage.emitted;
    contributed += frame->payloadBytes;
    const bool complete = contributed == operation.spec.bytes;

    if (wasBehind && ++stage.atLeast == stage.senders.size())
    {
        Emit(operation, index, at, nowPs);
    }
    // Once a member's whole contribution is in, the frame goes back as its acknowledgement, after
    // the result.
    if (complete && sender < operation.spec.members.size())
    {
        node.AcknowledgeContribution(frame, frame->seq + frame->payloadBytes, nowPs);
    }
    else
    {
        pool.Free(frame);
    }
}

void
InNetworkEngine::OnResult(SwitchNode& node, QbbFrame* frame, int64_t nowPs)
{
    const uint32_t index = frame->operation;
    Operation& operation = *m_operations[index];
    const auto at = static_cast<uint32_t>(frame->member - operation.spec.members.size());
    SendDown(operation, index, at, frame->seq, frame->payloadBytes, nowPs);
    node.GetPort(frame->inPort).GetPool().Free(frame);
}

InNetworkEngine::Piece
InNetworkEngine::MakePiece(const Operation& operation,
                           uint32_t index,
                           QbbDataFlags flag,
                           uint64_t seq,
                           uint16_t payload)
{
    const InNetworkSpec& spec = operation.spec;
    const bool isLast = seq + payload == spec.bytes;
    return {seq,
            index,
            operation.WireBytesOf(payload),
            payload,
            spec.priority,
            static_cast<uint8_t>(isLast ? flag | QBB_FLAG_LAST : flag)};
}

inline void
InNetworkEngine::SendPiece(const Piece& piece,
                           SwitchNode& node,
                           uint16_t port,
                           uint32_t dst,
                           uint16_t number,
                           int64_t nowPs)
{
    QbbFrame* frame = node.GetPort(port).GetPool().Allocate();
    frame->kind = QbbFrameKind::Data;
    frame->flags = piece.flags;
    frame->seq = piece.seq;
    frame->payloadBytes = piece.payload;
    frame->wireBytes = piece.wireBytes;
    frame->operation = piece.operation;
    frame->priority = piece.priority;
    frame->dst = dst;
    frame->member = number;
    m_payload.made += piece.payload;
    node.ForwardResult(frame, port, nowPs);
}

void
InNetworkEngine::Emit(Operation& operation, uint32_t index, uint32_t at, int64_t nowPs)
{
    Operation::Stage& stage = operation.stages[at];
    uint64_t ready = UINT64_MAX;
    std::size_t last = 0; // senders that have contributed no more than that
    for (const uint32_t sender : stage.senders)
    {
        const uint64_t contributed = operation.contributed[sender];
        last = contributed < ready ? 1 : last + (contributed == ready);
        ready = std::min(ready, contributed);
    }
    stage.atLeast = stage.senders.size() - last;
    const InNetworkSwitch& here = operation.spec.switches[at];
    while (stage.emitted < ready)
    {
        const uint64_t seq = stage.emitted;
        const auto payload = static_cast<uint16_t>(std::min<uint64_t>(operation.mtu, ready - seq));
        stage.emitted += payload;
        if (at == 0)
        {
            SendDown(operation, index, at, seq, payload, nowPs);
            continue;
        }
        const Piece piece = MakePiece(operation, index, QBB_FLAG_REDUCE, seq, payload);
        const auto number = static_cast<uint16_t>(operation.spec.members.size() + at);
        SendPiece(piece, *here.node, here.upPort, UINT32_MAX, number, nowPs);
    }
}

void
InNetworkEngine::SendDown(Operation& operation,
                          uint32_t index,
                          uint32_t at,
                          uint64_t seq,
                          uint16_t payload,
                          int64_t nowPs)
{
    SwitchNode& node = *operation.spec.switches[at].node;
    const Piece piece = MakePiece(operation, index, QBB_FLAG_MULTICAST, seq, payload);
    for (const Operation::Receiver& receiver : operation.stages[at].receivers)
    {
        SendPiece(piece,
                  node,
                  receiver.port,
                  receiver.dst,
                  static_cast<uint16_t>(receiver.number),
                  nowPs);
    }
}

void
InNetworkEngine::OnHostFrame(const RdmaHw& host, const QbbFrame& frame)
{
    const uint32_t index = frame.operation;
    const uint32_t member = frame.member;
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
    NS_LOG_LOGIC("member " << member << " of operation " << index << " is done");
    const auto onDone = std::move(progress.onDone);
    if (++operation.doneCount == operation.progress.size())
    {
        --m_openCount;
        m_free.push_back(index);
        if (IsQueued(operation))
        {
            m_queue.Leave(operation.SwitchIds());
        }
    }
    if (onDone)
    {
        onDone();
    }
}

} // namespace ns3

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flow-runner.h"

#include "ns3/callback.h"
#include "ns3/qbb-mail.h"
#include "ns3/simulator.h"

#include <utility>

namespace ns3
{

FlowRunner::FlowRunner(RdmaFabric& fabric, const std::string& path)
    : m_fabric(fabric),
      m_cut(std::vector<uint64_t>(fabric.GetQpsPerConnection(), 1)),
      m_file(path, fabric.GetTopology())
{
    m_fabric.TraceConnectWithoutContext("RoutesChanged",
                                        MakeCallback(&FlowRunner::OnRoutesChanged, this));
}

FlowRunner::~FlowRunner()
{
    m_fabric.TraceDisconnectWithoutContext("RoutesChanged",
                                           MakeCallback(&FlowRunner::OnRoutesChanged, this));
    for (EventId* event : {&m_startEvent, &m_triggeredEvent})
    {
        if (!event->IsExpired())
        {
            Simulator::Remove(*event);
        }
    }
}

void
FlowRunner::Start(std::function<void()> allDone)
{
    m_allDone = std::move(allDone);
    m_next = m_file.Next();
    if (m_next)
    {
        m_startEvent = Simulator::Schedule(PicoSeconds(m_next->startPs) - Simulator::Now(),
                                           &FlowRunner::StartDueFlows,
                                           this);
    }
    else
    {
        m_startEvent = Simulator::ScheduleNow([this] { m_allDone(); });
    }
}

void
FlowRunner::StartDueFlows()
{
    const int64_t nowPs = Simulator::Now().GetPicoSeconds();
    while (m_next && m_next->startPs <= nowPs)
    {
        StartFlow(*m_next);
        m_next = m_file.Next();
    }
    if (m_next)
    {
        m_startEvent = Simulator::Schedule(PicoSeconds(m_next->startPs - nowPs),
                                           &FlowRunner::StartDueFlows,
                                           this);
    }
}

uint32_t
FlowRunner::TakePlace()
{
    if (m_freePlaces.empty())
    {
        m_active.emplace_back();
        return static_cast<uint32_t>(m_active.size() - 1);
    }
    const uint32_t place = m_freePlaces.back();
    m_freePlaces.pop_back();
    return place;
}

std::vector<RdmaQueuePair*>
FlowRunner::Connect(const FlowRecord& flow, uint32_t count)
{
    const bool persistent = m_fabric.HasPersistentQueuePairs();
    std::vector<RdmaQueuePair*> pairs;
    std::vector<RdmaQueuePair*>& open =
        persistent ? m_connections[{flow.src, flow.dst, flow.priority, flow.dport}] : pairs;
    RdmaConnectionOptions options;
    options.priority = flow.priority;
    options.dport = flow.dport;
    options.closeWhenDone = !persistent;
    while (open.size() < count)
    {
        RdmaQueuePair* qp = m_fabric.GetDriver(flow.src)->Connect(flow.dst, options);
        if (!qp)
        {
            return {};
        }
        open.push_back(qp);
    }
    return {open.begin(), open.begin() + count};
}

void
FlowRunner::StartFlow(const FlowRecord& flow)
{
    const RdmaHw& hw = m_fabric.GetHw(flow.src);
    const auto parts = static_cast<uint32_t>(m_cut.Divide(flow.bytes, hw.GetMtu(), 0).size());
    const uint32_t place = TakePlace();
    m_active[place] = {flow, parts, parts, false};
    if (!m_fabric.IsHere(m_fabric.GetTopology().NodeOfHost(flow.src)))
    {
        return; // its end is told
    }
    if (!Launch(place))
    {
        m_waiting.push_back(place);
        QbbMail::Note(hw.GetNodeId(), *this, PathSought{place, true});
    }
}

void
FlowRunner::OnRoutesChanged()
{
    std::erase_if(m_waiting, [this](uint32_t place) {
        const bool starts = Launch(place);
        if (starts)
        {
            const RdmaHw& hw = m_fabric.GetHw(m_active[place].flow.src);
            QbbMail::Note(hw.GetNodeId(), *this, PathSought{place, false});
        }
        return starts;
    });
}

bool
FlowRunner::Launch(uint32_t place)
{
    const FlowRecord& flow = m_active[place].flow;
    RdmaHw& hw = m_fabric.GetHw(flow.src);
    const MessageCut::Parts cut = m_cut.Divide(flow.bytes, hw.GetMtu(), 0);
    const auto pairs = Connect(flow, static_cast<uint32_t>(cut.size()));
    std::function<void()> delivered;
    if (flow.whenDelivered != 0)
    {
        delivered = [this, place] { OnPartDelivered(place); };
    }
    for (uint32_t i = 0; i < pairs.size(); ++i)
    {
        if (m_counter)
        {
            m_counter->Count(*pairs[i], cut[i].bytes, m_purpose);
        }
        hw.PostMessage(
            *pairs[i],
            cut[i].bytes,
            [this, place, context = hw.GetNodeId()] {
                QbbMail::Note(context, *this, PartSent{place});
            },
            delivered,
            flow.startPs);
    }
    return !pairs.empty();
}

void
FlowRunner::OnPartSent(uint32_t place)
{
    Active& active = m_active[place];
    if (--active.partsLeft > 0)
    {
        return;
    }
    ++m_finished;
    m_finishedBytes += active.flow.bytes;
    m_lastFinishPs = Simulator::Now().GetPicoSeconds();
    Activate(active.flow.whenSent);
    m_freePlaces.push_back(place);
    if (m_finished == m_file.Count())
    {
        QbbMail::Post(m_allDone);
    }
}

void
FlowRunner::OnPartDelivered(uint32_t place)
{
    Active& active = m_active[place];
    if (--active.partsUndelivered == 0)
    {
        Activate(active.flow.whenDelivered);
    }
}

void
FlowRunner::Activate(uint32_t trigger)
{
    const auto flows = m_file.Triggers().Activate(trigger);
    m_triggered.insert(m_triggered.end(), flows.begin(), flows.end());
    // In an event of its own, as the one that ends a flow is still at work at its host.
    if (!flows.empty() && m_triggeredEvent.IsExpired())
    {
        m_triggeredEvent = Simulator::ScheduleNow(&FlowRunner::StartTriggered, this);
    }
}

void
FlowRunner::StartTriggered()
{
    for (FlowRecord& flow : std::exchange(m_triggered, {}))
    {
        flow.startPs = Simulator::Now().GetPicoSeconds();
        StartFlow(flow);
    }
}

std::vector<std::string>
FlowRunner::DescribeUnfinished(std::size_t limit) const
{
    const ClusterTopology& topology = m_fabric.GetTopology();
    std::vector<std::string> lines;
    for (const Active& active : m_active)
    {
        if (active.partsLeft == 0)
        {
            continue;
        }
        if (lines.size() == limit)
        {
            lines.push_back("...");
            break;
        }
        const FlowRecord& flow = active.flow;
        lines.push_back("flow of line " + std::to_string(flow.line) + ", " +
                        std::to_string(flow.bytes) + " bytes from node " +
                        std::to_string(topology.NodeOfHost(flow.src)) + " to node " +
                        std::to_string(topology.NodeOfHost(flow.dst)) +
                        (active.waitsForPath ? ", found no path" : ", waits for acknowledgements"));
    }
    return lines;
}

void
FlowRunner::CloseConnections()
{
    for (const auto& [connection, pairs] : m_connections)
    {
        for (RdmaQueuePair* qp : pairs)
        {
            m_fabric.GetHw(std::get<0>(connection)).Close(*qp);
        }
    }
    m_connections.clear();
}

} // namespace ns3

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "pfc-watchdog.h"

#include "fabric-parts.h"
#include "rdma-qbb/model/switch/buffer-deadlock.h"
#include "trace-source.h"

#include "ns3/callback.h"
#include "ns3/log.h"
#include "ns3/qbb-mail.h"
#include "ns3/rdma-hw.h"
#include "ns3/rdma-nic.h"
#include "ns3/rdma-queue-pair.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <istream>
#include <ostream>
#include <string_view>
#include <tuple>

namespace ns3
{

namespace
{

/// Storms that are kept as text; the records count them all.
constexpr std::size_t MAX_STORM_LINES = 100;

/// Names of actions, in their order.
constexpr std::array<std::string_view, 3> ACTIONS{"Alert", "Drop", "Forward"};

uint64_t
KeyOf(uint32_t node, uint16_t port, uint8_t priority)
{
    return static_cast<uint64_t>(node) << 24 | static_cast<uint64_t>(port) << 8 | priority;
}

std::string
Micros(int64_t ps)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.3f us", static_cast<double>(ps) / 1e6);
    return text;
}

} // namespace

ATTRIBUTE_HELPER_CPP(PfcAction);

std::ostream&
operator<<(std::ostream& text, const PfcAction& action)
{
    return text << ACTIONS[static_cast<std::size_t>(action)];
}

std::istream&
operator>>(std::istream& text, PfcAction& action)
{
    std::string word;
    text >> word;
    const auto named = std::ranges::find(ACTIONS, word);
    const bool legal = named != ACTIONS.end();
    if (legal)
    {
        action = static_cast<PfcAction>(named - ACTIONS.begin());
    }
    text.clear(legal ? std::ios::eofbit : std::ios::eofbit | std::ios::failbit);
    return text;
}

NS_LOG_COMPONENT_DEFINE("PfcWatchdog");

NS_OBJECT_ENSURE_REGISTERED(PfcWatchdog);

TypeId
PfcWatchdog::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::PfcWatchdog")
            .SetParent<Object>()
            .SetGroupName("RdmaQbb")
            .AddConstructor<PfcWatchdog>()
            .AddAttribute("Timeout",
                          "How long a queue is paused without a break before it counts as a PFC "
                          "storm, and a deadlock is searched for; 0: off",
                          TimeValue(MilliSeconds(10)),
                          MakeTimeAccessor(&PfcWatchdog::m_timeout),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("Action",
                          "What a PFC storm leads to: a report (a deadlock then ends the run), the "
                          "loss of what the queue holds, or sending in spite of the pause for "
                          "Timeout",
                          PfcActionValue(PfcAction::Alert),
                          MakePfcActionAccessor(&PfcWatchdog::m_action),
                          MakePfcActionChecker());
    return tid;
}

PfcWatchdog::PfcWatchdog() = default;

void
PfcWatchdog::Watch(const FabricParts& parts)
{
    m_parts = &parts;
    const TraceSource<QbbNetDevice> source("Pfc");
    auto sink = MakeCallback(&PfcWatchdog::OnPfc, this);
    for (uint32_t node = 0; node < parts.nodes.size(); ++node)
    {
        for (QbbNetDevice* device : parts.devices[node])
        {
            if (parts.IsHere(node))
            {
                source.Connect(*device, sink.Bind(node));
            }
        }
    }
    const TraceSource<RdmaHw> timeout("Timeout");
    const TraceSource<RdmaHw> failure("QpFailed");
    for (uint32_t host = 0; host < parts.drivers.size(); ++host)
    {
        if (parts.IsHere(parts.topology->NodeOfHost(host)))
        {
            RdmaHw& hw = parts.Hw(host);
            timeout.Connect(hw, MakeCallback(&PfcWatchdog::OnTimeout, this));
            failure.Connect(hw, MakeCallback(&PfcWatchdog::OnFailure, this));
        }
    }
}

PfcWatchdog::~PfcWatchdog() = default;

void
PfcWatchdog::OnTimeout(const RdmaQueuePair& qp)
{
    if (qp.nic->GetPort().GetHeldMask() >> qp.priority & 1)
    {
        OnFailure(qp);
    }
}

void
PfcWatchdog::OnFailure(const RdmaQueuePair& qp)
{
    QbbMail::Note(qp.hw->GetNodeId(), *this, Waiting{});
}

void
PfcWatchdog::NoteWaiting()
{
    if (!m_searchScheduled && !m_stopped)
    {
        m_searchScheduled = true;
        QbbMail::Post([this] {
            m_searchScheduled = false;
            SearchDeadlock(Simulator::Now().GetTimeStep());
        });
    }
}

void
PfcWatchdog::OnPfc(uint32_t node, Ptr<const QbbNetDevice> device, uint8_t priority, bool paused)
{
    // An event of no node may end a pause, too.
    QbbMail::Note(device->GetNodeId(), *this, Told{node, device->GetPort(), priority, paused});
}

void
PfcWatchdog::Note(uint32_t node, uint16_t port, uint8_t priority, bool paused)
{
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    const uint64_t key = KeyOf(node, port, priority);
    PfcPauseRecord& record =
        m_records.try_emplace(key, PfcPauseRecord{node, port, priority}).first->second;
    NS_LOG_LOGIC("node " << node << " port " << port << " priority " << +priority
                         << (paused ? " is paused" : " may send again"));
    if (paused && record.sincePs < 0)
    {
        record.sincePs = nowPs;
        ++record.pauses;
        m_paused.push_back(key);
        ScheduleCheck(std::max(m_timeout.GetTimeStep(), QbbMail::GetDelayPs()));
    }
    else if (!paused && record.sincePs >= 0)
    {
        const int64_t lastedPs = nowPs - record.sincePs;
        record.totalPs += lastedPs;
        record.longestPs = std::max(record.longestPs, lastedPs);
        record.sincePs = -1;
        record.storm = false;
        std::erase(m_paused, key);
    }
}

void
PfcWatchdog::ScheduleCheck(int64_t delayPs)
{
    if (m_timeout.GetTimeStep() > 0 && !m_checkScheduled)
    {
        m_checkScheduled = true;
        Simulator::Schedule(PicoSeconds(delayPs), [this] { Check(); });
    }
}

void
PfcWatchdog::Check()
{
    m_checkScheduled = false;
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    int64_t nextPs = INT64_MAX;
    std::vector<uint64_t> storms;
    for (const uint64_t key : m_paused)
    {
        PfcPauseRecord& record = m_records.at(key);
        if (nowPs - record.sincePs < m_timeout.GetTimeStep())
        {
            nextPs = std::min(nextPs, record.sincePs + m_timeout.GetTimeStep());
            continue;
        }
        nextPs = std::min(nextPs, nowPs + m_timeout.GetTimeStep());
        storms.push_back(key);
        if (!record.storm)
        {
            NoteStorm(record, nowPs);
        }
    }
    if (!storms.empty())
    {
        SearchDeadlock(nowPs);
    }
    for (const uint64_t key : storms)
    {
        Act(m_records.at(key), nowPs);
    }
    if (nextPs != INT64_MAX)
    {
        ScheduleCheck(nextPs - nowPs);
    }
}

void
PfcWatchdog::NoteStorm(PfcPauseRecord& record, int64_t nowPs)
{
    record.storm = true;
    ++record.storms;
    ++m_storms;
    NS_LOG_INFO("storm " << m_storms << " begins at node " << record.node << " port "
                         << record.port);
    if (m_stormLines.size() >= MAX_STORM_LINES)
    {
        return;
    }
    const auto& port = m_parts->topology->Ports(record.node)[record.port];
    m_stormLines.push_back(
        "PFC storm at " + Micros(nowPs) + ": node " + std::to_string(record.node) + " port " +
        std::to_string(record.port + 1) + " priority " + std::to_string(record.priority) +
        ", paused by node " + std::to_string(port.peer) + " since " + Micros(record.sincePs));
}

void
PfcWatchdog::SearchDeadlock(int64_t nowPs)
{
    const std::vector<BufferWait> circle =
        FindBufferDeadlock(m_parts->switches,
                           [this](uint32_t node) { return m_parts->IsHere(node); });
    if (circle.empty())
    {
        return;
    }
    ++m_deadlocks;
    NS_LOG_INFO(circle.size() << " queues wait for each other in a circle");
    const bool isOfCredits = std::ranges::any_of(circle, &BufferWait::needsCredit);
    m_deadlockLines.assign(1,
                           std::string(isOfCredits ? "Credit" : "PFC") + " deadlock found at " +
                               Micros(nowPs) + ": " + std::to_string(circle.size()) +
                               " queues wait for each other in a circle");
    for (const BufferWait& wait : circle)
    {
        const auto record = m_records.find(KeyOf(wait.node, wait.port, wait.priority));
        m_deadlockLines.push_back(
            "  node " + std::to_string(wait.node) + " port " + std::to_string(wait.port + 1) +
            " holds " + std::to_string(wait.bytes) + " bytes of priority " +
            std::to_string(wait.priority) +
            (wait.needsCredit ? ", without credit of node " : ", paused by node ") +
            std::to_string(wait.pausedBy) +
            (record == m_records.end() ? "" : " since " + Micros(record->second.sincePs)));
    }
    if (m_action == PfcAction::Alert || m_timeout.IsZero() || isOfCredits)
    {
        m_stopped = true;
        Simulator::Stop();
    }
}

void
PfcWatchdog::Act(const PfcPauseRecord& record, int64_t nowPs)
{
    QbbNetDevice& device = *m_parts->devices[record.node][record.port];
    const uint8_t priority = record.priority;
    // Every process of a run comes here; in those without the port's frames the queue is empty.
    switch (m_action)
    {
    case PfcAction::Alert:
        break;
    case PfcAction::Drop:
        device.FlushQueue(priority, nowPs);
        break;
    case PfcAction::Forward:
        Simulator::Schedule(m_timeout, [&device, priority] {
            device.SetPauseIgnored(priority, false, Simulator::Now().GetTimeStep());
        });
        device.SetPauseIgnored(priority, true, nowPs);
        m_ignored = static_cast<uint8_t>(m_ignored | 1 << priority);
        break;
    }
}

std::vector<PfcPauseRecord>
PfcWatchdog::GetRecords() const
{
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    std::vector<PfcPauseRecord> records;
    for (const auto& [key, record] : m_records)
    {
        records.push_back(record);
        if (record.sincePs >= 0)
        {
            const int64_t lastedPs = nowPs - record.sincePs;
            records.back().totalPs += lastedPs;
            records.back().longestPs = std::max(record.longestPs, lastedPs);
        }
    }
    std::ranges::sort(records, [](const auto& a, const auto& b) {
        return std::tie(a.node, a.port, a.priority) < std::tie(b.node, b.port, b.priority);
    });
    return records;
}

int64_t
PfcWatchdog::GetLongestPs() const
{
    int64_t longestPs = 0;
    for (const PfcPauseRecord& record : GetRecords())
    {
        longestPs = std::max(longestPs, record.longestPs);
    }
    return longestPs;
}

std::vector<std::string>
PfcWatchdog::Describe(std::size_t limit) const
{
    std::vector<std::string> lines = m_deadlockLines;
    const std::size_t shown = std::min(limit, m_stormLines.size());
    lines.insert(lines.end(), m_stormLines.begin(), m_stormLines.begin() + shown);
    if (m_storms > shown)
    {
        lines.push_back("and " + std::to_string(m_storms - shown) + " more PFC storms");
    }
    return lines;
}

} // namespace ns3

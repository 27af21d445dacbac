/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rank-watch.h"

#include "programs/frame/ended-process.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sched.h>
#include <utility>

namespace AstraSim
{

namespace
{

constexpr int64_t SECOND_NS = 1'000'000'000;
constexpr int64_t SIGN_NS = SECOND_NS;
constexpr int64_t TELL_NS = SECOND_NS / 4; ///< given to the network for carrying a failure
constexpr const char* HELLO = "hello";
constexpr const char* ALIVE = "alive";

} // namespace

RankWatch::RankWatch(PhyNetwork& network, std::vector<RankProcess> processes, double timeoutSeconds)
    : m_network(network),
      m_processes(std::move(processes)),
      m_rank(network.GetRank()),
      m_ranks(network.GetSize()),
      m_timeoutNs(static_cast<int64_t>(timeoutSeconds * static_cast<double>(SECOND_NS))),
      m_lastSeenNs(PhysicalLoop::MonotonicNs()),
      m_lastLookNs(m_lastSeenNs),
      m_greeted(static_cast<std::size_t>(m_ranks), false)
{
    m_network.SetControlHandler(
        [this](uint32_t src, const std::string& text) { OnControl(src, text); });
}

std::string
RankWatch::Name(int rank) const
{
    return fmt::format("rank {} (host {})", rank, m_processes[static_cast<std::size_t>(rank)].host);
}

int
RankWatch::Other(int distance) const
{
    return (m_rank + distance % m_ranks + m_ranks) % m_ranks;
}

std::set<int>
RankWatch::GreetedRanks() const
{
    std::set<int> others;
    for (int distance = 1; distance < m_ranks;
         distance = m_ranks <= ALL_PAIRS ? distance + 1 : distance * 2)
    {
        others.insert(Other(distance));
        others.insert(Other(-distance));
    }
    others.erase(m_rank);
    return others;
}

std::string
RankWatch::Greet(double seconds)
{
    const std::set<int> others = GreetedRanks();
    for (const int rank : others)
    {
        if (m_rank < rank)
        {
            m_network.SendControl(static_cast<uint32_t>(rank), HELLO);
        }
    }
    const int64_t end = PhysicalLoop::MonotonicNs() +
                        static_cast<int64_t>(seconds * static_cast<double>(SECOND_NS));
    for (const int rank : others)
    {
        while (!m_greeted[static_cast<std::size_t>(rank)])
        {
            if (PhysicalLoop::MonotonicNs() > end)
            {
                return fmt::format("{} does not reach it: no message in {} s", Name(rank), seconds);
            }
            if (!m_network.Progress())
            {
                sched_yield();
            }
        }
    }
    m_lastSeenNs = PhysicalLoop::MonotonicNs();
    m_lastLookNs = m_lastSeenNs;
    return "";
}

void
RankWatch::OnControl(uint32_t src, const std::string& text)
{
    if (static_cast<int>(src) == Other(-1))
    {
        m_lastSeenNs = PhysicalLoop::MonotonicNs();
    }
    if (text == HELLO)
    {
        m_greeted[src] = true;
        if (static_cast<int>(src) < m_rank)
        {
            m_network.SendControl(src, HELLO);
        }
    }
    else if (text != ALIVE)
    {
        m_lastTeller = static_cast<int>(src);
        const auto json = nlohmann::json::parse(text, nullptr, false);
        if (json.is_discarded())
        {
            throw RankFailure(static_cast<int>(src), "fails").Told();
        }
        throw RankFailure(json["rank"], json["cause"], json["status"], json["exit"]).Told();
    }
}

void
RankWatch::Look()
{
    const int64_t now = PhysicalLoop::MonotonicNs();
    if (m_ranks == 1 || m_ended || now < m_nextSignNs)
    {
        return;
    }
    m_nextSignNs = now + SIGN_NS / 4;
    m_network.SendControl(static_cast<uint32_t>(Other(1)), ALIVE);
    // A rank that was stopped itself first looks at the messages that have come meanwhile.
    const bool wasAway = now - m_lastLookNs > m_timeoutNs / 2;
    m_lastLookNs = now;
    if (wasAway)
    {
        m_backNs = now;
        m_lastSeenNs = now;
        return;
    }
    if (now - m_lastSeenNs > m_timeoutNs)
    {
        const int silent = Other(-1);
        throw RankFailure(silent,
                          HasDied(silent)
                              ? std::string(DEATH)
                              : fmt::format("is silent for {:g} s",
                                            static_cast<double>(m_timeoutNs) / SECOND_NS));
    }
}

bool
RankWatch::WasToldMeanwhile()
{
    try
    {
        const int64_t end = PhysicalLoop::MonotonicNs() + TELL_NS;
        while (m_network.Progress() && PhysicalLoop::MonotonicNs() < end)
        {
        }
        return false;
    }
    catch (const RankFailure& other)
    {
        return other.WasTold();
    }
}

bool
RankWatch::TellAll(const RankFailure& failure)
{
    m_ended = true;
    // While this rank waited, another may have told of the failure: then this one stays silent.
    if (WasToldMeanwhile())
    {
        return false;
    }
    bool isFirst = true;
    std::string cause = failure.what();
    cause.resize(std::min(cause.size(), PhyNetwork::CONTROL_BYTES / 2));
    const int rank = failure.GetRank() == RankFailure::THIS_RANK ? m_rank : failure.GetRank();
    const std::string text = nlohmann::json{{"rank", rank},
                                            {"cause", cause},
                                            {"status", failure.GetStatus()},
                                            {"exit", failure.GetExitStatus()}}
                                 .dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    try
    {
        for (int other = 0; other < m_ranks; ++other)
        {
            if (other != m_rank && other != rank)
            {
                m_network.SendControl(static_cast<uint32_t>(other), text);
            }
        }
    }
    catch (const RankFailure&)
    {
        // A rank that cannot be told notices the silence.
    }
    const int64_t end = PhysicalLoop::MonotonicNs() + TELL_NS;
    while (PhysicalLoop::MonotonicNs() < end)
    {
        try
        {
            m_network.Progress();
        }
        catch (const RankFailure& other)
        {
            // Several ranks may notice one failure: the lowest one speaks. Failures that follow
            // from it are no news.
            isFirst = isFirst && !(other.WasTold() && m_lastTeller < m_rank);
        }
        sched_yield();
    }
    return isFirst;
}

bool
RankWatch::HasDied(int rank) const
{
    const RankProcess& process = m_processes[static_cast<std::size_t>(rank)];
    return process.host == m_processes[static_cast<std::size_t>(m_rank)].host &&
           HasProcessEnded(process.pid);
}

std::optional<int>
RankWatch::FindDead() const
{
    for (int rank = 0; rank < m_ranks; ++rank)
    {
        if (rank != m_rank && HasDied(rank))
        {
            return rank;
        }
    }
    return std::nullopt;
}

bool
RankWatch::SpeaksFor(int dead) const
{
    const std::string& host = m_processes[static_cast<std::size_t>(dead)].host;
    for (int rank = 0; rank < m_ranks; ++rank)
    {
        const RankProcess& process = m_processes[static_cast<std::size_t>(rank)];
        if (process.host == host && !HasProcessEnded(process.pid))
        {
            return rank == m_rank;
        }
    }
    return false;
}

} // namespace AstraSim

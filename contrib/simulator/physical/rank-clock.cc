/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rank-clock.h"

#include "physical-loop.h"

#include <fstream>
#include <string>
#include <vector>

namespace AstraSim
{

namespace
{

constexpr double PS_PER_NS = 1000;

/// @return an identity of the running system: processes with the same one share a clock
std::string
BootId()
{
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    std::getline(file, id);
    return id;
}

} // namespace

RankClock::RankClock(const RankCommunicator& ranks)
    : m_ranks(ranks)
{
    const std::vector<std::string> boots = ranks.GatherAll(BootId());
    m_isShared = boots[static_cast<std::size_t>(ranks.GetRank())] == boots.front();
}

ClockOffset
RankClock::Find() const
{
    const ClockOffset offset = m_ranks.CompareClocks(&PhysicalLoop::MonotonicNs);
    return m_isShared ? ClockOffset{} : offset;
}

void
RankClock::Compare()
{
    const ClockOffset offset = Find();
    m_offsetNs = offset.offsetNs;
    m_errorNs = offset.errorNs;
    m_comparedNs = PhysicalLoop::MonotonicNs() - m_offsetNs;
}

void
RankClock::CompareAgain()
{
    const int64_t offsetNs = Find().offsetNs;
    const int64_t elapsedNs = PhysicalLoop::MonotonicNs() - offsetNs - m_comparedNs;
    m_drift = static_cast<double>(offsetNs - m_offsetNs) / static_cast<double>(elapsedNs);
}

TimePs
RankClock::WithoutDrift(int64_t startNs, TimePs time) const
{
    const double sinceNs =
        static_cast<double>(startNs - m_comparedNs) + static_cast<double>(time) / PS_PER_NS;
    return time - static_cast<TimePs>(m_drift * sinceNs * PS_PER_NS);
}

} // namespace AstraSim

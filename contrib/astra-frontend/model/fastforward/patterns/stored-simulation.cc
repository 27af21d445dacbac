/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "stored-simulation.h"

#include "pattern-bytes.h"

#include <bit>
#include <utility>

namespace AstraSim
{

StoredSimulation::StoredSimulation(RepeatingSimulation& inner,
                                   DiskStore& store,
                                   const Sha256::Value& configuration,
                                   bool verifies)
    : m_inner(inner),
      m_store(store),
      m_configuration(configuration),
      m_verifies(verifies)
{
}

DiskStore::Key
StoredSimulation::KeyOf(const ns3::QbbBytes& pattern, uint64_t round) const
{
    Sha256 sum;
    sum.Add(m_configuration.data(), m_configuration.size());
    sum.Add(&round, sizeof(round));
    sum.Add(pattern.data(), pattern.size());
    return sum.Finish();
}

std::optional<PartRound>
StoredSimulation::Find(const DiskStore::Key& key)
{
    const auto bytes = m_store.Find(key);
    if (!bytes)
    {
        return std::nullopt;
    }
    PartRound round = RoundFromBytes(*bytes);
    ++m_report.patterns;
    m_report.work += round.outcome.traffic.Work();
    return round;
}

PartOutcome
StoredSimulation::Simulate(const PartPattern& pattern)
{
    m_repeats = false;
    const DiskStore::Key key = KeyOf(ToBytes(pattern, {}), 0);
    if (auto found = Find(key))
    {
        const bool isSample = m_verifies && std::has_single_bit(m_report.patterns);
        return isSample ? Verify(pattern, key, std::move(found->outcome))
                        : std::move(found->outcome);
    }
    PartRound round;
    round.outcome = m_inner.Simulate(pattern);
    m_store.Put(key, ToBytes(round));
    return std::move(round.outcome);
}

PartOutcome
StoredSimulation::Verify(const PartPattern& pattern, const DiskStore::Key& key, PartOutcome found)
{
    PartRound again;
    again.outcome = m_inner.Simulate(pattern);
    ++m_report.verifiedPatterns;
    if (again.outcome.ends != found.ends)
    {
        ++m_report.wrongPatterns;
        m_store.Put(key, ToBytes(again));
    }
    return std::move(again.outcome);
}

PartOutcome
StoredSimulation::SimulateAgain(const PartPattern& pattern)
{
    m_repeats = false;
    return m_inner.Simulate(pattern);
}

PartRound
StoredSimulation::Repeat(const TimedOperation& first, const std::vector<TimePs>& gaps)
{
    m_series = {*first.operation, first.starts, gaps};
    m_repeats = true;
    ++m_repetitions;
    return NextOfSeries();
}

PartRound
StoredSimulation::GoOn()
{
    return NextOfSeries();
}

PartRound
StoredSimulation::NextOfSeries()
{
    const TimedOperation first{&m_series.operation, m_series.starts};
    const auto bytes = ToBytes({first}, {.goesOn = false, .gaps = m_series.gaps});
    const DiskStore::Key key = KeyOf(bytes, m_series.asked++);
    if (auto found = Find(key))
    {
        return std::move(*found);
    }
    // A simulation goes on from what it has simulated itself only.
    while (true)
    {
        PartRound round =
            m_series.simulated == 0 ? m_inner.Repeat(first, m_series.gaps) : m_inner.GoOn();
        if (++m_series.simulated == m_series.asked)
        {
            m_store.Put(key, ToBytes(round));
            return round;
        }
        m_report.replayedWork += round.outcome.traffic.Work();
    }
}

} // namespace AstraSim

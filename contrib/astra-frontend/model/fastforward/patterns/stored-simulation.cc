/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "stored-simulation.h"

#include "pattern-bytes.h"

#include <bit>
#include <utility>

namespace AstraSim
{

StoredSimulation::StoredSimulation(PatternSimulation& inner,
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
StoredSimulation::KeyOf(const PartPattern& pattern) const
{
    const ns3::QbbBytes bytes = ToBytes(pattern);
    Sha256 sum;
    sum.Add(m_configuration.data(), m_configuration.size());
    sum.Add(bytes.data(), bytes.size());
    return sum.Finish();
}

std::optional<PartOutcome>
StoredSimulation::Find(const DiskStore::Key& key)
{
    const auto bytes = m_store.Find(key);
    if (!bytes)
    {
        return std::nullopt;
    }
    PartOutcome outcome = OutcomeFromBytes(*bytes);
    ++m_report.patterns;
    m_report.work += outcome.traffic.Work();
    return outcome;
}

PartOutcome
StoredSimulation::SimulateLonger(const PartPattern& pattern, uint64_t known)
{
    const DiskStore::Key key = KeyOf(pattern);
    if (auto found = Find(key))
    {
        const bool isSample = m_verifies && std::has_single_bit(m_report.patterns);
        return isSample ? Verify(pattern, key, *found) : std::move(*found);
    }
    PartOutcome outcome = m_inner.SimulateLonger(pattern, known);
    if (!outcome.isInterrupted)
    {
        m_store.Put(key, ToBytes(outcome));
    }
    return outcome;
}

PartOutcome
StoredSimulation::Verify(const PartPattern& pattern,
                         const DiskStore::Key& key,
                         const PartOutcome& found)
{
    PartOutcome again = m_inner.Simulate(pattern);
    if (again.isInterrupted)
    {
        return again;
    }
    ++m_report.verifiedPatterns;
    if (again.ends != found.ends)
    {
        ++m_report.wrongPatterns;
        m_store.Put(key, ToBytes(again));
    }
    return again;
}

PartOutcome
StoredSimulation::SimulateAgain(const PartPattern& pattern)
{
    return m_inner.Simulate(pattern);
}

} // namespace AstraSim

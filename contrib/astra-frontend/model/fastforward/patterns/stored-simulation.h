/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef STORED_SIMULATION_H
#define STORED_SIMULATION_H

#include "disk-store.h"
#include "pattern-simulation.h"

#include <cstdint>
#include <optional>

namespace AstraSim
{

/// Totals of a DiskStore in a run.
struct StoreReport
{
    uint64_t patterns{0};         ///< found in it
    uint64_t work{0};             ///< packet-hops (flows without packets) of these
    uint64_t verifiedPatterns{0}; ///< of these, those that were simulated again
    uint64_t wrongPatterns{0};    ///< of these, those with a different outcome
};

/**
 * @ingroup astra-frontend
 * @brief Returns a pattern's outcome from a store on disk. Simulates and stores it if it is
 * missing.
 *
 * An outcome depends on the pattern and on the configuration of the models. The key has both, so
 * outcomes are the same as without the store.
 */
class StoredSimulation : public PatternSimulation
{
  public:
    /**
     * @param inner simulates; outlives the object
     * @param store outlives the object
     * @param configuration a digest of all that an outcome depends on besides the pattern, the
     * program included
     * @param verifies simulate the 1st, 2nd, 4th, 8th ... pattern from the store again
     */
    StoredSimulation(PatternSimulation& inner,
                     DiskStore& store,
                     const Sha256::Value& configuration,
                     bool verifies);

    PartOutcome Simulate(const PartPattern& pattern) override
    {
        return SimulateLonger(pattern, 0);
    }

    PartOutcome SimulateLonger(const PartPattern& pattern, uint64_t known) override;
    PartOutcome SimulateAgain(const PartPattern& pattern) override;

    const StoreReport& GetReport() const
    {
        return m_report;
    }

  private:
    DiskStore::Key KeyOf(const PartPattern& pattern) const;
    std::optional<PartOutcome> Find(const DiskStore::Key& key);
    /// Simulate a pattern again, and correct the store. @return the outcome of that
    PartOutcome Verify(const PartPattern& pattern,
                       const DiskStore::Key& key,
                       const PartOutcome& found);

    PatternSimulation& m_inner;
    DiskStore& m_store;
    Sha256::Value m_configuration;
    bool m_verifies;
    StoreReport m_report;
};

} // namespace AstraSim

#endif /* STORED_SIMULATION_H */

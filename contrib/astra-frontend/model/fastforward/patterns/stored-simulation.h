/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef STORED_SIMULATION_H
#define STORED_SIMULATION_H

#include "disk-store.h"
#include "pattern-simulation.h"

#include "ns3/qbb-bytes.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace AstraSim
{

/// What a DiskStore did for a run.
struct StoreReport
{
    uint64_t patterns{0};         ///< that it had
    uint64_t work{0};             ///< packet-hops (flows without packets) of these
    uint64_t replayedWork{0};     ///< of these, what was simulated yet, to go on from there
    uint64_t verifiedPatterns{0}; ///< of these, those simulated again
    uint64_t wrongPatterns{0};    ///< of which something else came then
};

/**
 * @ingroup astra-frontend
 * @brief Looks what comes of patterns up on disk, and has simulated and keeps what is not there.
 *
 * As what comes of a pattern follows from the pattern and from how the models are configured, which
 * both are in the key, answers are the same as without the store, whatever is in it.
 */
class StoredSimulation : public RepeatingSimulation
{
  public:
    /**
     * @param inner simulates; outlives the object
     * @param store outlives the object
     * @param configuration stands for all that the simulation of a pattern follows from besides the
     * pattern, the program included
     * @param verifies simulate the 1st, 2nd, 4th, 8th ... pattern from the store again
     */
    StoredSimulation(RepeatingSimulation& inner,
                     DiskStore& store,
                     const Sha256::Value& configuration,
                     bool verifies);

    PartOutcome Simulate(const PartPattern& pattern) override;
    PartOutcome SimulateAgain(const PartPattern& pattern) override;
    PartRound Repeat(const TimedOperation& first, const std::vector<TimePs>& gaps) override;

    uint64_t GetRepetition() const override
    {
        return m_repeats ? m_repetitions : 0;
    }

    PartRound GoOn() override;

    const StoreReport& GetReport() const
    {
        return m_report;
    }

  private:
    /// A collective that is carried out again and again.
    struct Series
    {
        PartOperation operation;
        std::vector<TimePs> starts;
        std::vector<TimePs> gaps;
        uint64_t asked{0};     ///< rounds that were asked for
        uint64_t simulated{0}; ///< rounds that the inner simulation is through with
    };

    DiskStore::Key KeyOf(const ns3::QbbBytes& pattern, uint64_t round) const;
    std::optional<PartRound> Find(const DiskStore::Key& key);
    /// @return the outcome that counts
    PartOutcome Verify(const PartPattern& pattern, const DiskStore::Key& key, PartOutcome found);
    PartRound NextOfSeries();

    RepeatingSimulation& m_inner;
    DiskStore& m_store;
    Sha256::Value m_configuration;
    bool m_verifies;
    bool m_repeats{false};
    uint64_t m_repetitions{0};
    Series m_series; ///< the last one
    StoreReport m_report;
};

} // namespace AstraSim

#endif /* STORED_SIMULATION_H */

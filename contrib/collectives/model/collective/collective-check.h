/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVE_CHECK_H
#define COLLECTIVE_CHECK_H

#include "collective-books.h"
#include "collective-implementation.h"

#include <cstdint>
#include <map>
#include <memory>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief Carries collectives out on symbolic data beside the simulation, on any network.
 *
 * Stands between the executors of a collective and the network. A message carries the names of
 * ranks: all those with data at its sender when it leaves. The receiver adds them to its own when
 * it arrives. Checked:
 * - arriving messages were sent before, on the same connection, and no byte is left over or
 * missing;
 * - no message of a flow graph leaves before the messages it depends on have arrived, each has the
 *   graph's size, and all of them are sent and received;
 * - when a rank is done it has data of every rank that its collective demands, and as many bytes.
 *
 * The unit tests of the graphs prove the rest, piece by piece: a graph carried out in its order
 * gives each rank the right data.
 */
class CollectiveCheck
{
  public:
    explicit CollectiveCheck(CheckReport report)
        : m_report(std::move(report))
    {
    }

    /**
     * @param implementation borrowed; outlives the object
     * @return an implementation with the same plans and with checked collectives; owned by this
     * object
     */
    CollectiveImplementation& Watch(CollectiveImplementation& implementation);

    /// @return collectives (phases of chunks, too) that all ranks have completed
    uint64_t GetChecked() const
    {
        return m_checked;
    }

  private:
    class Watched;

    CheckReport m_report;
    uint64_t m_checked{0};
    std::map<CollectiveImplementation*, std::unique_ptr<CollectiveImplementation>> m_watched;
};

} // namespace AstraSim

#endif /* COLLECTIVE_CHECK_H */

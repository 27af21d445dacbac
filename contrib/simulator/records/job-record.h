/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef JOB_RECORD_H
#define JOB_RECORD_H

#include "astra-frontend/model/system/run-observer.h"
#include "astra-frontend/model/system/system-config.h"
#include "programs/frame/run-console.h"

#include "ns3/named-kind.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace AstraSim
{

/// A file, or lines for people, about one workload of a run. Each is a file of its own, and a
/// static Kind makes it known.
class JobRecord : public RunObserver
{
  public:
    /// The job that a record is about.
    struct Site
    {
        bool reportsRanks; ///< asked for by a flag, as the files of SimAI
        bool simaiFiles;
        const SystemConfig& system;
        const RunConsole& console;
        std::string output;  ///< directory of files
        std::string suffix;  ///< of their names, before ".csv"
        int firstRank;       ///< of the network
        uint32_t dimensions; ///< of the logical topology
    };

    struct Kind : public ns3::NamedKind<Kind>
    {
        /// @return the record, null if the run does without it
        using Make = std::unique_ptr<JobRecord> (*)(const Site& site);

        Kind(std::string name, Make theMake)
            : NamedKind(std::move(name)),
              make(theMake)
        {
        }

        Make make;
    };

    /// The run is over. @param finished whether the job is complete
    /// @throw ns3::InputError if a file cannot be written
    virtual void Finish([[maybe_unused]] bool finished)
    {
    }

    /// @return a file that an input has named; empty if there is none
    virtual std::string GetNamedFile() const
    {
        return {};
    }
};

} // namespace AstraSim

#endif /* JOB_RECORD_H */

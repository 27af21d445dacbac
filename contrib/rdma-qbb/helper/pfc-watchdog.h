/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PFC_WATCHDOG_H
#define PFC_WATCHDOG_H

#include "ns3/fabric-conf.h"
#include "ns3/nstime.h"
#include "ns3/qbb-net-device.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ns3
{

class RdmaFabric;

/// What pauses have done to one queue of a port.
struct PfcPauseRecord
{
    uint32_t node;        ///< topology node
    uint16_t port;        ///< its port, from 0
    uint8_t priority;     ///< the queue
    uint64_t pauses{0};   ///< how often it was paused
    int64_t totalPs{0};   ///< how long in all
    int64_t longestPs{0}; ///< the longest without a break
    uint64_t storms{0};   ///< pauses that lasted the watchdog's time
    int64_t sincePs{-1};  ///< when the pause that lasts began; -1: it is not paused
    bool storm{false};    ///< the pause that lasts is a storm
};

/**
 * @brief Watches the pauses of all ports of a fabric: who pauses whom, storms, deadlocks.
 *
 * A queue that is paused without a break for PFC_WATCHDOG microseconds is a storm. What happens
 * then says PFC_WATCHDOG_ACTION, as with the watchdogs of switches: `alert` notes it; `drop` drops
 * what the queue holds; `forward` lets it send in spite of the pauses for the same time again. At
 * each storm the pauses are searched for a deadlock; with `alert`, which cannot resolve one, that
 * ends the simulation.
 *
 * Costs nothing while nothing is paused, and little then: it listens to changes only.
 */
class PfcWatchdog
{
  public:
    /// @param fabric built; outlives the object
    explicit PfcWatchdog(RdmaFabric& fabric);
    ~PfcWatchdog();

    PfcWatchdog(const PfcWatchdog&) = delete;
    PfcWatchdog& operator=(const PfcWatchdog&) = delete;

    /// @return a record of each queue that was ever paused, by node, port and priority; a pause
    /// that lasts counts up to now
    std::vector<PfcPauseRecord> GetRecords() const;

    /// @return number of storms so far
    uint64_t GetStorms() const
    {
        return m_storms;
    }

    /// @return number of times a deadlock was found
    uint64_t GetDeadlocks() const
    {
        return m_deadlocks;
    }

    /// @return whether a deadlock has ended the simulation
    bool HasStoppedRun() const
    {
        return m_stopped;
    }

    /// @return the longest pause without a break, in picoseconds
    int64_t GetLongestPs() const;

    /// @return lines for people: the deadlock found last and the storms, at most @p limit storms
    std::vector<std::string> Describe(std::size_t limit) const;

  private:
    void OnPfc(Ptr<const QbbNetDevice> device, uint8_t priority, bool paused);
    void ScheduleCheck(int64_t delayPs);
    void Check();
    void NoteStorm(PfcPauseRecord& record, int64_t nowPs);
    void SearchDeadlock(int64_t nowPs);
    void Act(const PfcPauseRecord& record, int64_t nowPs);

    RdmaFabric& m_fabric;
    int64_t m_timePs;
    FabricConf::PfcAction m_action;
    boost::unordered_flat_map<uint64_t, PfcPauseRecord> m_records;
    std::vector<uint64_t> m_paused; ///< keys of the queues that are paused
    bool m_checkScheduled{false};
    bool m_stopped{false};
    uint64_t m_storms{0};
    uint64_t m_deadlocks{0};
    std::vector<std::string> m_stormLines; ///< the first storms
    std::vector<std::string> m_deadlockLines;
};

} // namespace ns3

#endif /* PFC_WATCHDOG_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PFC_WATCHDOG_H
#define PFC_WATCHDOG_H

#include "ns3/attribute-helper.h"
#include "ns3/attribute.h"
#include "ns3/nstime.h"
#include "ns3/object.h"
#include "ns3/qbb-call.h"
#include "ns3/qbb-net-device.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace ns3
{

class RdmaQueuePair;
struct FabricParts;

/// Reaction to a queue that is paused for too long: an attribute's type.
enum class PfcAction
{
    Alert,   ///< reports it
    Drop,    ///< drops the frames in the queue
    Forward, ///< lets the queue send all the same for a time
};

std::ostream& operator<<(std::ostream& text, const PfcAction& action);
std::istream& operator>>(std::istream& text, PfcAction& action);

ATTRIBUTE_HELPER_HEADER(PfcAction);

/// Pauses of one queue of a port.
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
 * @ingroup rdma-qbb
 * @brief Watches the pauses of all ports of a fabric: pauses by pair of ports, storms, deadlocks.
 *
 * A queue that is paused without a break for the Timeout is a storm. The Action decides its
 * consequence, as with the watchdogs of switches: Alert notes it; Drop empties the queue;
 * Forward lets it send in spite of the pauses for the same time again. At each storm the pauses are
 * searched for a deadlock; with Alert, which cannot resolve one, that ends the simulation.
 *
 * A queue pair that runs into its timeout behind a port that holds it back, or gives up, starts a
 * search, too, whatever the Timeout. So circles of links without credit (LinkCredits) are found,
 * which no Action resolves: they end the simulation.
 *
 * Costs nothing while nothing is paused, and little then: it listens to changes only.
 */
class PfcWatchdog : public Object, public QbbAddressee
{
  public:
    static TypeId GetTypeId();

    PfcWatchdog();
    ~PfcWatchdog() override;

    /// Begin to watch. @param parts of a fabric that is built; outlive the object
    void Watch(const FabricParts& parts);

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

    /// @return whether a queue of that priority has ever sent in spite of a pause (action Forward),
    /// so that the far end may have had no room
    bool HasIgnoredPauses(uint8_t priority) const
    {
        return m_ignored >> priority & 1;
    }

    /// @return the longest pause without a break, in picoseconds
    int64_t GetLongestPs() const;

    /// @return lines for people: the deadlock found last and the storms, at most @p limit storms
    std::vector<std::string> Describe(std::size_t limit) const;

  private:
    /// A queue has been paused, or may send again.
    struct Told
    {
        uint32_t node;
        uint16_t port;
        uint8_t priority;
        bool paused;

        void operator()(PfcWatchdog& watchdog) const
        {
            watchdog.Note(node, port, priority, paused);
        }
    };

    /// A queue pair waits in vain.
    struct Waiting
    {
        void operator()(PfcWatchdog& watchdog) const
        {
            watchdog.NoteWaiting();
        }
    };

    void OnTimeout(const RdmaQueuePair& qp);
    void OnFailure(const RdmaQueuePair& qp);
    void NoteWaiting();
    void OnPfc(uint32_t node, Ptr<const QbbNetDevice> device, uint8_t priority, bool paused);
    void Note(uint32_t node, uint16_t port, uint8_t priority, bool paused);
    void ScheduleCheck(int64_t delayPs);
    void Check();
    void NoteStorm(PfcPauseRecord& record, int64_t nowPs);
    void SearchDeadlock(int64_t nowPs);
    void Act(const PfcPauseRecord& record, int64_t nowPs);

    const FabricParts* m_parts{nullptr};
    Time m_timeout;
    PfcAction m_action{PfcAction::Alert};
    boost::unordered_flat_map<uint64_t, PfcPauseRecord> m_records;
    std::vector<uint64_t> m_paused; ///< keys of the queues that are paused
    bool m_checkScheduled{false};
    bool m_searchScheduled{false};
    bool m_stopped{false};
    uint8_t m_ignored{0}; ///< priorities with pauses that have been ignored, a bit each
    uint64_t m_storms{0};
    uint64_t m_deadlocks{0};
    std::vector<std::string> m_stormLines; ///< the first storms
    std::vector<std::string> m_deadlockLines;
};

} // namespace ns3

#endif /* PFC_WATCHDOG_H */

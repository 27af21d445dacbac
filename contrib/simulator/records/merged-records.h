/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef MERGED_RECORDS_H
#define MERGED_RECORDS_H

#include "astra-frontend/model/system/message-ledger.h"
#include "astra-frontend/model/system/run-observer.h"
#include "astra-frontend/model/system/workload.h"

#include "ns3/qbb-call.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup simulator
 * @brief Merges the records of the parts of a job, be they partitions of a simulation or ranks that
 * are processes, as if one job told them: a collective begins with its first rank, wherever that
 * is, and ends with its last.
 *
 * The observer hears everything in the order of time, between the windows of the run
 * (QbbMail::Note()).
 */
class MergedRecords : public ns3::QbbAddressee
{
  public:
    /// @param observer hears it; outlives the object
    explicit MergedRecords(RunObserver& observer);
    ~MergedRecords();

    /// Set the workload that names the layers; before the run. @param workload outlives the object
    void SetWorkload(const Workload& workload)
    {
        m_workload = &workload;
    }

    /// @return the observer of a new part @param ranks of the network that are in it
    RunObserver& AddPart(const std::vector<int>& ranks);

    /// @return keys of the collectives that not all parts have ended
    std::vector<uint64_t> GetRunning() const;

    /// @return collectives and messages that have ended
    uint64_t GetCollectivesEnded() const
    {
        return m_ended;
    }

    /**
     * @param countJoined ranks that have begun the collective of a key
     * @return a line per collective that some ranks have begun and others not
     */
    std::vector<std::string> DescribeMissingRanks(
        const std::function<std::size_t(uint64_t key)>& countJoined) const;

    /// @return a line for each message that was sent and not received
    std::vector<std::string> DescribeMessages() const
    {
        return m_messages.Describe();
    }

  private:
    class Part;

    /// A collective of which not all parts have ended.
    struct Collective
    {
        CollectiveRecord record;
        CollectiveChoice choice;
        std::size_t ranksEnded{0};
    };

    // records of parts
    struct GroupMet;
    struct Begun;
    struct Ended;
    struct PhaseEnded;
    struct FlowDone;
    struct Left;
    struct Came;
    struct Computed;
    struct Awaited;
    template <auto Tell, typename Value>
    struct RankNote;
    struct RankDone;
    struct Result;

    /// @return a part's record of a collective, with the layer and the group filled in
    CollectiveRecord Complete(CollectiveRecord record, uint32_t group) const;
    void Begin(const CollectiveRecord& record);
    void End(const CollectiveRecord& record, const CollectiveChoice& choice, std::size_t ranks);
    void Send(const MessageEndRecord& record);
    void Receive(const MessageEndRecord& record);
    /// @return the observer's id of a running collective
    uint64_t IdOf(uint64_t key) const;

    RunObserver& m_observer;
    const Workload* m_workload{nullptr};
    std::vector<std::unique_ptr<Part>> m_parts;
    std::unordered_map<uint32_t, CommGroup> m_groups;   ///< by id
    std::unordered_map<uint64_t, Collective> m_running; ///< by key
    MessageLedger m_messages;
    /// Messages that came before they left, as clocks of machines differ; by source, destination
    /// and tag.
    std::map<std::tuple<int, int, int>, std::deque<MessageEndRecord>> m_early;
    uint64_t m_nextId{1};
    uint64_t m_ended{0};
};

} // namespace AstraSim

#endif /* MERGED_RECORDS_H */

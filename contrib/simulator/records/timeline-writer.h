/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TIMELINE_WRITER_H
#define TIMELINE_WRITER_H

#include "astra-frontend/model/system/run-observer.h"

#include "ns3/output-file.h"

#include <cstdint>
#include <set>
#include <string>

namespace AstraSim
{

/**
 * @ingroup simulator
 * @brief Writes timeline.json: the activities of each rank over time, in Chrome's trace format
 * (Perfetto opens it).
 *
 * A process per rank, with a thread for computation, one for waiting, and one per stream queue; the
 * flows that it sends, which overlap, are asynchronous events. Events are written as they end. The
 * file is valid JSON whenever it is closed by Finish(); Perfetto also opens the file of a run that
 * was cut off.
 */
class TimelineWriter : public RunObserver
{
  public:
    /**
     * @param path the file to write
     * @param ranks ranks of the network below this number are shown (--timeline-ranks)
     * @param limit events to write at most (--timeline-limit)
     * @throw ns3::InputError if it cannot be opened
     */
    TimelineWriter(const std::string& path, int ranks, uint64_t limit);

    void ComputeEnded(const ComputeRecord& record) override;
    void WaitEnded(const WaitRecord& record) override;
    void StreamPhaseEnded(const StreamPhaseRecord& record) override;
    void FlowEnded(const FlowRecord& record) override;

    /// End the file. @throw ns3::InputError if something could not be written
    void Finish();

    /// @return events left out because of the limit
    uint64_t GetDropped() const
    {
        return m_dropped;
    }

  private:
    /// @return whether one more event may be written
    bool Admit(int rank);

    /// @return the text between two events
    const char* Separator();

    /// Name the rank and the thread for viewers, once.
    void Name(int rank, int thread);

    void Write(int rank,
               int thread,
               std::string_view name,
               std::string_view category,
               TimePs start,
               TimePs end,
               const std::string& arguments);

    ns3::OutputFile m_file;
    int m_ranks;
    uint64_t m_limit;
    uint64_t m_written{0};
    uint64_t m_dropped{0};
    bool m_first{true};                    ///< nothing is written yet
    std::set<std::pair<int, int>> m_named; ///< ranks and threads
};

} // namespace AstraSim

#endif /* TIMELINE_WRITER_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_MAIL_H
#define QBB_MAIL_H

#include "ns3/qbb-call.h"
#include "ns3/qbb-timeline.h"

#include <cstdint>
#include <functional>
#include <string_view>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Messages between nodes besides frames, and notes to observers of all nodes:
 * records, plain values without addresses.
 *
 * A caller does not know whether the other node is in the same list of events, another thread's or
 * another process's. In a run with partitions (QbbPartitions) mail arrives after a delay, which is
 * the same however the nodes are shared out; in a run without, at once.
 */
class QbbMail
{
  public:
    /**
     * Call an object at a node of another server. The call arrives after the delay, before any
     * frame that is sent now. Calls of the same time arrive in the order of their callers' servers;
     * those of one server in the order in which it made them.
     * @param node id of the ns-3 node of the call @param target the object that is called
     * @param record called with @p target
     */
    template <typename Target, typename Record>
    static void Post(uint32_t node, const Target& target, const Record& record)
    {
        const QbbCall call(target, record);
        if (QbbTimeline* timeline = QbbTimeline::Current())
        {
            PostFrom(*timeline, node, call);
            return;
        }
        call();
    }

    /// Run @p action after the delay, while no partition runs events, so that it may touch
    /// everything. For watchers that act on a note.
    static void Post(std::function<void()> action);

    /**
     * Tell @p target, which watches all nodes, of an event at one. With partitions, the note waits
     * until all of them have come to the present time. The simulator's clock then shows this time,
     * but nodes may be ahead of it, so @p target may not read their state. Notes come in the order
     * of time and node.
     * @param node id of the ns-3 node that it is about
     * @param record called with @p target, and with @p text if it takes one
     */
    template <typename Target, typename Record>
    static void Note(uint32_t node,
                     Target& target,
                     const Record& record,
                     std::string_view text = {})
    {
        QbbTimeline* timeline = QbbTimeline::Current();
        if (QbbNotes* notes = timeline ? NotesOf(*timeline, node) : nullptr)
        {
            notes->Add(timeline->nowTs, node, target, record, text);
            return;
        }
        QbbCallKinds::Call(record, target, text);
    }

    /// The same about the node of the present event.
    template <typename Target, typename Record>
    static void Note(Target& target, const Record& record, std::string_view text = {})
    {
        const QbbTimeline* timeline = QbbTimeline::Current();
        Note(timeline ? timeline->context : 0, target, record, text);
    }

    /// @return the delay of mail in picoseconds; 0 without partitions
    static int64_t GetDelayPs();

  private:
    static void PostFrom(QbbTimeline& caller, uint32_t node, const QbbCall& call);
    /// @return the list in which a note about @p node waits; null if targets get it at once
    static QbbNotes* NotesOf(QbbTimeline& timeline, uint32_t node);
};

} // namespace ns3

#endif /* QBB_MAIL_H */

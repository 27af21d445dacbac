/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REORDER_BUFFER_H
#define REORDER_BUFFER_H

#include "seq-ranges.h"

#include "ns3/qbb-frame.h"
#include "ns3/rdma-deadline-timer.h"
#include "ns3/rdma-loss-recovery.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace ns3
{

class RdmaQueuePair;
struct RdmaRxQueuePair;

/**
 * @ingroup rdma-qbb
 * @brief A receiver's record of frames that overtook others, and its wait for those.
 *
 * Frames are written to memory as they come, so a bitmap is all that is kept of them (here run
 * by run). It reaches a number of frames beyond the byte expected; by default as far as the sender
 * goes while it waits for an answer, so that a frame is never lost for coming early. If a time
 * limit is set and a gap lasts longer, the receiver asks for the missing data, and again after each
 * further limit.
 */
class ReorderBuffer
{
  public:
    /**
     * @param rx the receiver; outlives the object
     * @param flightBytes most that the sender has under way
     * @param reordering how much it keeps, and how long it waits
     * @param selective whether the receiver's question names the frames after the gap
     */
    ReorderBuffer(RdmaRxQueuePair& rx,
                  uint64_t flightBytes,
                  const RdmaLossRecovery::Reordering& reordering,
                  bool selective);

    /// @return the buffer of a receiver that is new; null where frames keep their order
    static std::unique_ptr<ReorderBuffer> Make(
        RdmaRxQueuePair& rx,
        uint64_t flightBytes,
        const std::optional<RdmaLossRecovery::Reordering>& reordering,
        bool selective);

    /// @return how many frames of a sender with @p bdpBytes on its path overtake one that is
    /// @p latePs late
    static double FramesAhead(const RdmaQueuePair& qp, uint64_t bdpBytes, int64_t latePs);

    /// A frame beyond the byte expected has come. @return false if it is too far ahead to be kept
    bool Keep(const QbbFrame& frame, int64_t nowPs);

    /**
     * rx.expectedSeq has advanced by a frame in order: pass the frames that were kept.
     * @return whether there was any
     */
    bool Advance(int64_t nowPs);

    /// Set rx.namedSeq, which a selective NACK names, to the first frame after the gap.
    void NameFirstKept();

  private:
    void OnLimit();

    RdmaRxQueuePair& m_rx;
    uint64_t m_reachBytes;
    int64_t m_limitPs;
    bool m_selective;
    uint16_t m_port{0};                         ///< NIC port that the last frame came in by
    SeqRanges m_kept;                           ///< out of order, above expectedSeq
    std::unique_ptr<RdmaDeadlineTimer> m_timer; ///< null without a limit
};

} // namespace ns3

#endif /* REORDER_BUFFER_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NATIVE_SCHEDULE_H
#define NATIVE_SCHEDULE_H

#include "ns3/collective-types.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace AstraSim
{

/// A message a rank sends, one it receives, or both; ranks are indices in the group.
struct NativeStep
{
    int sendTo{-1};
    int receiveFrom{-1};
    uint64_t sendBytes{0};
    uint64_t receiveBytes{0};
    bool reduces{false};  ///< adds the received data to local data
    bool afterAll{false}; ///< begins when all earlier steps of the lane have ended
};

/**
 * @ingroup astra-frontend
 * @brief A native algorithm as an implicit graph: each rank's steps, by arithmetic.
 *
 * A rank works through one or several lanes at the same time; in a lane, up to Window() steps are
 * under way, in order. The buffer is cut in blocks of equal size; BlocksSent() says which of them a
 * message carries, so that tests can follow the data.
 */
class NativeSchedule
{
  public:
    /// @param ranks of the group @param request the collective
    NativeSchedule(uint32_t ranks, const CollectiveRequest& request)
        : m_ranks(ranks),
          m_op(request.op),
          m_bytes(request.bytes)
    {
    }

    virtual ~NativeSchedule() = default;

    virtual uint32_t LaneCount() const
    {
        return 1;
    }

    /// @return steps of a lane that may be under way at a time
    virtual uint32_t Window() const
    {
        return 1;
    }

    virtual uint32_t StepCount(uint32_t rank, uint32_t lane) const = 0;
    virtual NativeStep Step(uint32_t rank, uint32_t lane, uint32_t step) const = 0;

    /**
     * @return the blocks that the message of a step carries: 0..n-1 (AllToAll: sender * n +
     * receiver; trees: one per lane)
     */
    virtual std::vector<uint32_t> BlocksSent(uint32_t rank, uint32_t lane, uint32_t step) const = 0;

    /// @return messages of all ranks
    uint64_t MessageCount() const;

  protected:
    /// @return bytes of @p count of the n blocks; at least 1
    uint64_t BytesOf(uint64_t count) const;

    uint32_t m_ranks;
    CollectiveOp m_op;
    uint64_t m_bytes;
};

} // namespace AstraSim

#endif /* NATIVE_SCHEDULE_H */

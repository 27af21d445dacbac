/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NATIVE_SCHEDULE_H
#define NATIVE_SCHEDULE_H

#include "ns3/collective-types.h"
#include "ns3/named-kind.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
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
 *
 * A static NativeSchedule::Kind makes one known to system files, from any file of a program. They
 * say "ring", or "oneRing" for one flat group over all dimensions.
 */
class NativeSchedule
{
  public:
    /// An algorithm by its name, of letters. Records begin it with a capital one.
    class Kind : public ns3::NamedKind<Kind>
    {
      public:
        /// @param ranks of the group
        /// @param window the number after the name, -1 if none: steps that may be under way
        /// @throw ns3::InputError if it cannot carry out the request
        using Make = std::function<std::unique_ptr<NativeSchedule>(uint32_t ranks,
                                                                   const CollectiveRequest& request,
                                                                   int window)>;

        Kind(std::string name, bool takesWindow, Make make)
            : NamedKind(std::move(name)),
              m_takesWindow(takesWindow),
              m_make(std::move(make))
        {
        }

        bool TakesWindow() const
        {
            return m_takesWindow;
        }

        std::unique_ptr<NativeSchedule> MakeFor(uint32_t ranks,
                                                const CollectiveRequest& request,
                                                int window) const
        {
            return m_make(ranks, request, window);
        }

      private:
        bool m_takesWindow;
        Make m_make;
    };

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

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_LATE_WORK_H
#define QBB_LATE_WORK_H

#include "ns3/simple-ref-count.h"

#include <cstdint>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Work that a node does late, with its own time, and that other partitions observe.
 *
 * In a run with partitions (QbbPartitions) it is carried out at the end of the window in which it
 * is due: it is noticed after the window only.
 */
class QbbLateWork : public SimpleRefCount<QbbLateWork>
{
  public:
    /// @param context id of the work's node
    explicit QbbLateWork(uint32_t context)
        : m_context(context)
    {
    }

    virtual ~QbbLateWork() = default;

    /// @return when the first of it is due, in picoseconds; INT64_MAX for never
    virtual int64_t GetDuePs() const = 0;

    /// Carry out all that is due up to this time.
    virtual void CarryOut(int64_t untilPs) = 0;

    uint32_t GetContext() const
    {
        return m_context;
    }

    bool isListed{false}; ///< its partition's timeline knows that some is due

  private:
    uint32_t m_context;
};

} // namespace ns3

#endif /* QBB_LATE_WORK_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef OPERATION_BEGIN_H
#define OPERATION_BEGIN_H

#include "part-pattern.h"

#include "ns3/collective-implementation.h"
#include "ns3/rank-network.h"

#include <cstdint>
#include <memory>

namespace AstraSim
{

/// A rank of an operation that is simulated.
struct OperationRank
{
    const PartOperation& operation; ///< outlives the rank's part
    uint32_t number;                ///< of the operation, which tells those of a network apart
    uint32_t rank;                  ///< index in its group
};

/// Numbers for the operations of a run: plans keep the state of an unfinished one by its number, so
/// it is unique among all networks.
class OperationNumbers
{
  public:
    uint32_t Next()
    {
        return m_next++ % COUNT;
    }

  private:
    static constexpr uint32_t COUNT = 1 << 22; ///< so many have tags of their own

    uint32_t m_next{0};
};

/**
 * Have a rank begin its part of a pattern's operation.
 * @param network the rank's
 * @param plan of a collective; null for a message
 * @param ended called once with @p arg, from the event loop, when the rank is through
 * @return the executor of the rank's part, to be kept until then; null for a message
 */
std::unique_ptr<RankCollective> BeginOperation(const OperationRank& what,
                                               RankNetwork& network,
                                               const CollectivePlan* plan,
                                               MessageHandler ended,
                                               void* arg);

} // namespace AstraSim

#endif /* OPERATION_BEGIN_H */

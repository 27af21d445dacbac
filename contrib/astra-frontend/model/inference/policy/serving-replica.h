/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SERVING_REPLICA_H
#define SERVING_REPLICA_H

#include "sequence.h"

#include <cstddef>
#include <cstdint>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief The state of a replica of an instance that policies decide by.
 */
class ServingReplica
{
  public:
    virtual ~ServingReplica() = default;

    /// @return tokens of all its sequences that are still to be computed
    virtual uint64_t GetLoad() const = 0;

    /// @return free blocks, less those that waiting sequences will take
    virtual int64_t GetFreeBlocks() const = 0;

    /// @return blocks at the beginning of the prompt that are in the cache. At least one token is
    /// left to be computed.
    virtual uint64_t CountCached(const Sequence& sequence) const = 0;

    /// @return blocks of @p sequence that are not in the cache
    virtual uint64_t CountMissing(const Sequence& sequence) const = 0;

    virtual std::size_t CountRunning() const = 0;
    virtual std::size_t CountWaiting() const = 0;
};

} // namespace AstraSim

#endif /* SERVING_REPLICA_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NATIVE_COLLECTIVES_H
#define NATIVE_COLLECTIVES_H

#include "collectives/model/native/native-memory-bus.h"
#include "native-algorithm.h"

#include "ns3/collective-implementation.h"

#include <memory>
#include <utility>
#include <vector>

namespace AstraSim
{

/// ASTRA-sim's native algorithms of a job, each made at its first use.
class NativeCollectives
{
  public:
    explicit NativeCollectives(MemoryBusLookup busOf)
        : m_busOf(std::move(busOf))
    {
    }

    /// @return the implementation of @p algorithm, which is not Nccl
    CollectiveImplementation& Get(const NativeAlgorithm& algorithm);

  private:
    MemoryBusLookup m_busOf;
    std::vector<std::pair<NativeAlgorithm, std::unique_ptr<CollectiveImplementation>>> m_made;
};

} // namespace AstraSim

#endif /* NATIVE_COLLECTIVES_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ALGORITHM_LIBRARY_H
#define ALGORITHM_LIBRARY_H

#include "collective-library.h"

#include <optional>
#include <string>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief A library that takes the algorithm of least cost among those that can carry out a
 * collective and that the user allows.
 *
 * HCCL's, those of MSCCL's files, an engine's kernels, and plug-ins of no library.
 */
class AlgorithmLibrary : public CollectiveLibrary
{
  public:
    /// @param name of the library, as its algorithms' rules have it; empty: algorithms of none
    AlgorithmLibrary(std::string name, const LibraryOptions& options);

    std::optional<CollectiveOffer> Offer(const CollectiveQuestion& question) const override;

  private:
    bool IsAllowed(const CollectiveAlgorithm& algorithm, CollectiveOp op) const;

    std::string m_name;
    const LibraryOptions& m_options;
};

} // namespace AstraSim

#endif /* ALGORITHM_LIBRARY_H */

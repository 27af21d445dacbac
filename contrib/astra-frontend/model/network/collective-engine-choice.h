/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVE_ENGINE_CHOICE_H
#define COLLECTIVE_ENGINE_CHOICE_H

#include "ns3/collective-implementation.h"

#include <memory>
#include <string>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief NCCL, but for the collectives of some classes of traffic, which engines in the NICs carry
 * out (COLLECTIVE_ENGINE).
 *
 * NCCL carries out operations that engines lack (exchanges of unequal parts).
 */
class CollectiveEngineChoice : public CollectiveImplementation
{
  public:
    /**
     * @param nccl borrowed
     * @param engines borrowed
     * @param classes of groups, as ToString() spells their kinds
     */
    CollectiveEngineChoice(CollectiveImplementation& nccl,
                           CollectiveImplementation& engines,
                           std::vector<std::string> classes);

    std::shared_ptr<const CollectivePlan> Plan(const CommGroup& group,
                                               const CollectiveRequest& request) override;

  private:
    CollectiveImplementation& m_nccl;
    CollectiveImplementation& m_engines;
    std::vector<std::string> m_classes;
};

} // namespace AstraSim

#endif /* COLLECTIVE_ENGINE_CHOICE_H */

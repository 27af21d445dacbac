/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FORWARDED_COLLECTIVES_H
#define FORWARDED_COLLECTIVES_H

#include "fast-forward.h"

#include "ns3/collective-implementation.h"

#include <memory>
#include <unordered_map>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Collectives with times from a FastForward instead of from messages.
 *
 * Choices and flows are those of another implementation.
 */
class ForwardedCollectives : public CollectiveImplementation
{
  public:
    /// All borrowed.
    ForwardedCollectives(CollectiveImplementation& inner, FastForward& forward, ShapeFinder& shapes)
        : m_inner(inner),
          m_forward(forward),
          m_shapes(shapes)
    {
    }

    std::shared_ptr<const CollectivePlan> Plan(const CommGroup& group,
                                               const CollectiveRequest& request) override;

  private:
    CollectiveImplementation& m_inner;
    FastForward& m_forward;
    ShapeFinder& m_shapes;
    /// By the inner plan, which each keeps.
    std::unordered_map<const CollectivePlan*, std::shared_ptr<const CollectivePlan>> m_plans;
};

} // namespace AstraSim

#endif /* FORWARDED_COLLECTIVES_H */

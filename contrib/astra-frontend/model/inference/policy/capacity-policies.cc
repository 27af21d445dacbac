/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "capacity-policy.h"

namespace AstraSim
{

namespace
{

class MaxUtilization : public CapacityPolicy
{
  public:
    uint64_t TokensToBegin(const Sequence& sequence) const override
    {
        return sequence.Tokens();
    }
};

/// TensorRT-LLM's default.
class GuaranteedNoEvict : public CapacityPolicy
{
  public:
    uint64_t TokensToBegin(const Sequence& sequence) const override
    {
        return sequence.prompt + sequence.output - 1; // the last token is never in the cache
    }
};

const PolicyKind<CapacityPolicy> MAX_UTILIZATION("max_utilization",
                                                 "when its prompt fits in the cache",
                                                 [] { return std::make_unique<MaxUtilization>(); });

const PolicyKind<CapacityPolicy> GUARANTEED_NO_EVICT(
    "guaranteed_no_evict",
    "when its prompt and its output fit, whose blocks it keeps, so that nothing is preempted",
    [] { return std::make_unique<GuaranteedNoEvict>(); });

} // namespace

} // namespace AstraSim

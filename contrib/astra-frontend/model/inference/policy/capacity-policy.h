/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CAPACITY_POLICY_H
#define CAPACITY_POLICY_H

#include "sequence.h"
#include "serving-policy.h"

#include <cstdint>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Decides how many blocks a sequence takes when it begins. Key `capacity_scheduler_policy`.
 *
 * Instances that only prefill take the blocks of the prompt.
 */
class CapacityPolicy : public ServingPolicy
{
  public:
    /// @return tokens that it has room for from its beginning: at least those that it computes,
    /// Sequence::Tokens(). It begins when blocks for them are free, and takes them.
    virtual uint64_t TokensToBegin(const Sequence& sequence) const = 0;
};

} // namespace AstraSim

#endif /* CAPACITY_POLICY_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "request-router.h"

namespace AstraSim
{

namespace
{

class LeastLoadedRouter : public RankingRouter
{
  public:
    int64_t RankOf(const Target& target, const Sequence&) const override
    {
        return static_cast<int64_t>(target.replica->GetLoad() + target.coming);
    }
};

const PolicyKind<RequestRouter> LEAST_LOADED("least_loaded", "the fewest tokens to compute", [] {
    return std::make_unique<LeastLoadedRouter>();
});

} // namespace

} // namespace AstraSim

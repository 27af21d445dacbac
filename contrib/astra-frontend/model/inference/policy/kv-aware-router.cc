/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "request-router.h"

namespace AstraSim
{

namespace
{

/// As the KV router of NVIDIA's Dynamo, which weighs blocks to compute and blocks in use alike.
class KvAwareRouter : public RankingRouter
{
  public:
    int64_t RankOf(const Target& target, const Sequence& sequence) const override
    {
        return static_cast<int64_t>(target.replica->CountMissing(sequence)) -
               target.replica->GetFreeBlocks();
    }
};

const PolicyKind<RequestRouter> KV_AWARE(
    "kv_aware",
    "the fewest blocks: those of the prompt that its cache lacks, those in use, and those that "
    "waiting prompts will take",
    [] { return std::make_unique<KvAwareRouter>(); });

} // namespace

} // namespace AstraSim

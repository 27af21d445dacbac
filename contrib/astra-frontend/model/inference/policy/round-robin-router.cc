/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "request-router.h"

namespace AstraSim
{

namespace
{

class RoundRobinRouter : public RequestRouter
{
  public:
    std::size_t Choose(std::span<const Target> targets, const Sequence&) override
    {
        return m_next++ % targets.size();
    }

  private:
    std::size_t m_next{0};
};

const PolicyKind<RequestRouter> ROUND_ROBIN("round_robin", "one after the other", [] {
    return std::make_unique<RoundRobinRouter>();
});

} // namespace

} // namespace AstraSim

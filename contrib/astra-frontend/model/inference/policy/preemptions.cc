/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "preemption.h"

#include "ns3/clock-range.h"

namespace AstraSim
{

namespace
{

class SwapPreemption : public Preemption
{
  public:
    std::vector<ns3::Row> GetKeys() override
    {
        return {{"swap_gbps", ns3::Real(m_gbps, 1e-9, 1e18), "GB/s to the host"}};
    }

    bool Swaps() const override
    {
        return true;
    }

    std::optional<TimePs> GetSwapTime(const Sequence&, double bytes) const override
    {
        return ns3::RoundToPs(bytes * 1e3 / m_gbps);
    }

  private:
    double m_gbps{25};
};

const PolicyKind<Preemption> RECOMPUTE("recompute", "the youngest, which is computed again", [] {
    return std::make_unique<Preemption>();
});

const PolicyKind<Preemption> SWAP("swap", "the youngest, which is moved to the host", [] {
    return std::make_unique<SwapPreemption>();
});

} // namespace

} // namespace AstraSim

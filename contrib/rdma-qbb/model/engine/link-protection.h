/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LINK_PROTECTION_H
#define LINK_PROTECTION_H

#include "link-credits.h"
#include "link-port.h"
#include "link-retry.h"

#include <cstdint>
#include <optional>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Link retry, credits, or both, at one end of a link: shares their ordered sets out.
 *
 * A retry comes below credits: a frame that is sent again, or has come before, is counted once.
 */
class LinkProtection final : public LinkGuard
{
  public:
    /// Frames that the link loses are sent again; at both ends.
    std::optional<LinkRetry> retry;
    /// Frames are sent only where the far end has room for them; at both ends.
    std::optional<LinkCredits> credits;

    void OnSent(QbbFrame& frame) override;
    bool OnArrival(const QbbFrame& frame, int64_t nowPs) override;
    bool HasCopy(const QbbFrame& frame) const override;
    void FitToRate() override;
    void Restart(LinkGuard& peer) override;

  private:
    void ReceiveOrderedSet(const QbbFrame& frame, int64_t nowPs);
};

} // namespace ns3

#endif /* LINK_PROTECTION_H */

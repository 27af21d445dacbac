/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "link-protection.h"

namespace ns3
{

void
LinkProtection::OnSent(QbbFrame& frame)
{
    if (credits)
    {
        credits->OnSent(frame);
    }
    if (retry)
    {
        retry->OnSent(frame);
    }
}

bool
LinkProtection::OnArrival(const QbbFrame& frame, int64_t nowPs)
{
    if (frame.kind == QbbFrameKind::LinkControl)
    {
        ReceiveOrderedSet(frame, nowPs);
        return false;
    }
    if (retry && LinkRetry::Numbers(frame) && !retry->Accepts(frame, nowPs))
    {
        return false;
    }
    if (credits && !frame.lost)
    {
        credits->OnReceived(frame, nowPs);
    }
    return true;
}

void
LinkProtection::ReceiveOrderedSet(const QbbFrame& frame, int64_t nowPs)
{
    if (frame.lost)
    {
        return;
    }
    const auto type = static_cast<LinkControlType>(frame.controlType);
    switch (type)
    {
    case LinkControlType::Ack:
    case LinkControlType::Nack:
        retry->OnAnswer(frame.value, type == LinkControlType::Nack, nowPs);
        break;
    case LinkControlType::Credit:
        credits->OnReturned(frame.priority, frame.value, nowPs);
        break;
    case LinkControlType::CreditRequest:
        credits->OnAsked(frame.priority, frame.value, nowPs);
    }
}

bool
LinkProtection::HasCopy(const QbbFrame& frame) const
{
    return retry && retry->KeepsCopies() && LinkRetry::Numbers(frame);
}

void
LinkProtection::FitToRate()
{
    if (retry)
    {
        retry->FitToRate();
    }
}

void
LinkProtection::Restart(LinkGuard& peer)
{
    auto& theirs = static_cast<LinkProtection&>(peer);
    if (retry)
    {
        retry->Restart(*theirs.retry);
    }
    if (credits)
    {
        credits->Restart(*theirs.credits);
    }
}

} // namespace ns3

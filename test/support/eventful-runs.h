/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef EVENTFUL_RUNS_H
#define EVENTFUL_RUNS_H

#include "ns3/fabric-totals.h"

#include <gtest/gtest.h>
#include <string>

namespace ns3
{

/// A short run must still meet what its keys are there for: pauses, losses, notifications.
inline void
ExpectWhatKeysAskFor(const std::string& keys, const FabricTotals& totals)
{
    const auto ask = [&keys](const char* key) { return keys.find(key) != std::string::npos; };
    if (ask("BUFFER_SIZE"))
    {
        EXPECT_GT(totals.pauses, 0U);
    }
    if (ask("ERROR_RATE_PER_LINK") || ask("LINK_DOWN"))
    {
        EXPECT_GT(totals.drops, 0U);
        EXPECT_GT(totals.retransmittedBytes, 0U);
    }
    if (ask("KMIN_MAP"))
    {
        EXPECT_GT(totals.cnps, 0U);
    }
}

} // namespace ns3

#endif /* EVENTFUL_RUNS_H */

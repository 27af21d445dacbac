/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_TEST_SUPPORT_H
#define FABRIC_TEST_SUPPORT_H

#include "text-fabric.h"

#include <memory>
#include <vector>

namespace ns3
{

constexpr int64_t US = 1'000'000; ///< a microsecond, in picoseconds

/// A small fabric for a test, and flows by a line of code.
class FabricUnderTest : public TextFabric
{
  public:
    using TextFabric::TextFabric;

    /// Result of a flow.
    struct Flow
    {
        int64_t startPs{0};
        int64_t deliveredPs{-1};
        int64_t sentPs{-1};
    };

    /// Send @p bytes at @p startPs. @return where its times will be found
    const Flow& Send(uint32_t src,
                     uint32_t dst,
                     uint64_t bytes,
                     int64_t startPs = 0,
                     RdmaConnectionOptions options = {})
    {
        flows.push_back(std::make_unique<Flow>());
        Flow& flow = *flows.back();
        flow.startPs = startPs;
        options.closeWhenDone = true;
        Simulator::Schedule(PicoSeconds(startPs) - Simulator::Now(),
                            [this, src, dst, bytes, options, &flow] {
                                RdmaQueuePair* qp = fabric->GetDriver(src)->Connect(dst, options);
                                fabric->GetHw(src).PostMessage(
                                    *qp,
                                    bytes,
                                    [&flow] { flow.sentPs = Simulator::Now().GetTimeStep(); },
                                    [&flow] { flow.deliveredPs = Simulator::Now().GetTimeStep(); });
                            });
        return flow;
    }

    std::vector<std::unique_ptr<Flow>> flows;
};

} // namespace ns3

#endif /* FABRIC_TEST_SUPPORT_H */

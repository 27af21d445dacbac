/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_TEST_SUPPORT_H
#define FABRIC_TEST_SUPPORT_H

#include "ns3/cluster-topology.h"
#include "ns3/fabric-conf.h"
#include "ns3/nstime.h"
#include "ns3/rdma-fabric.h"
#include "ns3/simulator.h"

#include <sstream>
#include <string>
#include <vector>

namespace ns3
{

/// A small fabric for a test: topology and configuration from text, flows by a line of code.
class FabricUnderTest
{
  public:
    /// What became of a flow.
    struct Flow
    {
        int64_t startPs{0};
        int64_t deliveredPs{-1};
        int64_t sentPs{-1};
    };

    FabricUnderTest(const std::string& topologyText, const std::string& confText)
    {
        if (Time::GetResolution() != Time::PS)
        {
            Time::SetResolution(Time::PS);
        }
        std::istringstream topologyStream(topologyText);
        std::istringstream confStream(confText);
        topology = ClusterTopology::Read(topologyStream, "topology");
        conf = FabricConf::Read(confStream, "conf");
        conf.Check();
        fabric = CreateObject<RdmaFabric>();
    }

    ~FabricUnderTest()
    {
        Simulator::Destroy();
        fabric->Dispose();
    }

    void Build()
    {
        fabric->Build(topology, conf);
    }

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

    /// @return a topology of @p hosts hosts around one switch, in the three-field form
    static std::string Star(uint32_t hosts, const std::string& rate, const std::string& delay)
    {
        std::ostringstream text;
        text << hosts + 1 << " 1 " << hosts << "\n" << hosts << "\n";
        for (uint32_t i = 0; i < hosts; ++i)
        {
            text << hosts << " " << i << " " << rate << " " << delay << " 0\n";
        }
        return text.str();
    }

    ClusterTopology topology;
    FabricConf conf;
    Ptr<RdmaFabric> fabric;
    std::vector<std::unique_ptr<Flow>> flows;
};

} // namespace ns3

#endif /* FABRIC_TEST_SUPPORT_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// Several hosts send a message each to one, through one switch: incast [senders]
#include "ns3/cluster-topology.h"
#include "ns3/fabric-conf.h"
#include "ns3/rdma-fabric.h"
#include "ns3/simulator.h"

#include <cstdlib>
#include <iostream>
#include <sstream>

using namespace ns3;

int
main(int argc, char* argv[])
{
    Time::SetResolution(Time::PS); // before anything else
    const uint32_t senders = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 4;
    constexpr uint64_t BYTES = 1'000'000;

    // The same text as in files: a topology of three fields, and keys of a SimAI.conf.
    std::ostringstream links;
    links << senders + 2 << " 1 " << senders + 1 << "\n" << senders + 1 << "\n";
    for (uint32_t host = 0; host <= senders; ++host)
    {
        links << host << " " << senders + 1 << " 100Gbps 1us 0\n";
    }
    std::istringstream text(links.str());
    const ClusterTopology topology = ClusterTopology::Read(text, "star"); // outlives the fabric
    std::istringstream keys("CC_MODE 1\nPACKET_PAYLOAD_SIZE 4096\n");
    FabricConf conf = FabricConf::Read(keys, "keys");
    Ptr<RdmaFabric> fabric = CreateObject<RdmaFabric>();
    fabric->Build(topology, conf);

    for (uint32_t host = 0; host < senders; ++host)
    {
        RdmaQueuePair* pair = fabric->GetDriver(host)->Connect(senders, RdmaConnectionOptions{});
        const auto acknowledged = [host] {
            std::cout << host << " " << Simulator::Now().GetMicroSeconds() << " us\n";
        };
        fabric->GetHw(host).PostMessage(*pair, BYTES, acknowledged, nullptr);
    }
    Simulator::Run();
    std::cout << "pauses " << fabric->GetTotals().pauses << "\n";
    Simulator::Destroy();
    fabric->Dispose();
    return 0;
}

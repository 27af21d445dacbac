/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Memory of a cluster before anything is sent, and of the connections and flows on top:
 *
 *   bench-memory TOPOLOGY [CONF]
 */
#include "astra-frontend/model/packet/astra-sim-network.h"
#include "programs/frame/huge-pages.h"
#include "programs/frame/ns3-flags.h"

#include "ns3/cluster-topology.h"
#include "ns3/fabric-conf.h"
#include "ns3/input-error.h"
#include "ns3/nstime.h"
#include "ns3/rdma-fabric.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <iostream>
#include <malloc.h>

using namespace ns3;

namespace
{

/// @return bytes of the heap in use
double
HeapBytes()
{
    const struct mallinfo2 info = mallinfo2();
    return static_cast<double>(info.uordblks + info.hblkhd);
}

} // namespace

int
main(int argc, char* argv[])
{
    try
    {
        if (argc < 2 || argc > 3)
        {
            throw InputError("command line", 0, "wrong arguments", "TOPOLOGY [CONF]");
        }
        Time::SetResolution(Time::PS);
        UseHugePages();
        UseFastSimulator();
        const std::clock_t begin = std::clock();
        const ClusterTopology topology = ClusterTopology::Read(argv[1]);
        FabricConf conf = argc > 2 ? FabricConf::Read(argv[2]) : FabricConf();
        conf.Check();
        conf.Apply();
        const uint32_t hosts = topology.hostCount;

        const double empty = HeapBytes();
        Ptr<RdmaFabric> fabric = CreateObject<RdmaFabric>();
        fabric->Build(topology, conf);
        AstraSim::AstraSimFabric network(*fabric);
        const double idle = HeapBytes();
        fmt::print("GPUs                     {}\n"
                   "CPU seconds to build     {:.2f}\n"
                   "bytes per idle GPU       {:.0f} (its share of switches and routes included)\n",
                   hosts,
                   static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC,
                   (idle - empty) / hosts);

        // Connections that are open and idle, to hosts of other servers.
        constexpr uint32_t PER_HOST = 32;
        const uint32_t senders = std::min(hosts, 1024U);
        const auto peer = [&](uint32_t host, uint32_t i) {
            return (host + (i + 1) * topology.gpusPerServer) % hosts;
        };
        const auto connectAll = [&] {
            for (uint32_t host = 0; host < senders; ++host)
            {
                for (uint32_t i = 0; i < PER_HOST; ++i)
                {
                    fabric->GetDriver(host)->Connect(peer(host, i), {});
                }
            }
        };
        connectAll(); // what hosts and pairs of hosts have once
        const double once = HeapBytes();
        connectAll();
        const double connected = HeapBytes();
        fmt::print("bytes per queue pair     {:.0f} (both sides)\n",
                   (connected - once) / (senders * PER_HOST));

        // Flows under way: sent and expected, one frame each on the wire.
        const auto sendAll = [&](int tag) {
            for (uint32_t host = 0; host < senders; ++host)
            {
                for (uint32_t i = 0; i < PER_HOST; ++i)
                {
                    const uint32_t to = peer(host, i);
                    AstraSim::MessageInfo info;
                    const auto from = static_cast<int>(host);
                    network.GetNetwork(from).Send({static_cast<int>(to), tag, 1000, &info});
                    network.GetNetwork(static_cast<int>(to)).Receive({from, tag, 1000, &info});
                }
            }
        };
        const double before = HeapBytes();
        sendAll(1);
        Simulator::Stop(MicroSeconds(1));
        Simulator::Run();
        const double flying = HeapBytes();
        fmt::print("bytes per flow in flight {:.0f} (queue pair and packet included)\n",
                   (flying - before) / (senders * PER_HOST));
        Simulator::Run();
        Simulator::Destroy();
        fabric->Dispose();
        return 0;
    }
    catch (const InputError& error)
    {
        std::cerr << error.what() << "\n";
        return 2;
    }
}

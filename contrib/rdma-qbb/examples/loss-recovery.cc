/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// Go-back-N and IRN beside each other on a link that loses frames, as a table:
//   loss-recovery --megabytes=10 --gbps=100

#include "ns3/cluster-topology.h"
#include "ns3/command-line.h"
#include "ns3/fabric-conf.h"
#include "ns3/input-error.h"
#include "ns3/rdma-fabric.h"
#include "ns3/simulator.h"

#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

using namespace ns3;

namespace
{

/// Options of the command line.
struct Options
{
    uint64_t megabytes{10};
    uint64_t gbps{100};
};

/// Outcome of the message.
struct Result
{
    double goodputGbps;
    uint64_t lostBytes;
    uint64_t resentBytes;
    uint64_t timeouts;
};

Result
Run(const Options& options, const std::string& recovery, const std::string& errorRate)
{
    const std::string rate = std::to_string(options.gbps) + "Gbps 1us 0\n";
    std::istringstream links("3 1 2\n2\n0 2 " + rate + "1 2 " + rate);
    const ClusterTopology topology = ClusterTopology::Read(links, "pair");
    std::istringstream keys("CC_MODE 0\nPACKET_PAYLOAD_SIZE 1000\nLOSS_RECOVERY " + recovery +
                            "\nERROR_RATE_PER_LINK " + errorRate + "\n");
    FabricConf conf = FabricConf::Read(keys, "conf");
    conf.Apply();
    Ptr<RdmaFabric> fabric = CreateObject<RdmaFabric>();
    fabric->Build(topology, conf);
    fabric->AssignStreams(1);

    const uint64_t bytes = options.megabytes * 1'000'000;
    double seconds = 0;
    RdmaQueuePair* qp = fabric->GetDriver(0)->Connect(1, {});
    fabric->GetHw(0).PostMessage(*qp, bytes, nullptr, [&seconds] {
        seconds = Simulator::Now().GetSeconds();
    });
    Simulator::Run();
    const FabricTotals totals = fabric->GetTotals();
    Simulator::Destroy();
    fabric->Dispose();
    return {8e-9 * static_cast<double>(bytes) / seconds,
            totals.payloadLost,
            totals.retransmittedBytes,
            totals.timeouts};
}

void
PrintTable(const Options& options)
{
    if (options.megabytes < 1 || options.megabytes > 100'000)
    {
        throw InputError("command line",
                         0,
                         "--megabytes=" + std::to_string(options.megabytes),
                         "1 to 100000");
    }
    std::printf("%-10s  %-8s  %12s  %10s  %10s  %8s\n",
                "loss rate",
                "recovery",
                "goodput Gb/s",
                "lost B",
                "resent B",
                "timeouts");
    for (const char* errorRate : {"0", "0.0001", "0.001", "0.01"})
    {
        for (const char* recovery : {"gbn", "irn"})
        {
            const Result result = Run(options, recovery, errorRate);
            std::printf("%-10s  %-8s  %12.2f  %10lu  %10lu  %8lu\n",
                        errorRate,
                        recovery,
                        result.goodputGbps,
                        result.lostBytes,
                        result.resentBytes,
                        result.timeouts);
        }
    }
}

} // namespace

int
main(int argc, char** argv)
{
    Time::SetResolution(Time::PS);
    Options options;
    CommandLine command;
    command.AddValue("megabytes", "size of the message, 1 to 100000", options.megabytes);
    command.AddValue("gbps", "rate of both links in Gb/s", options.gbps);
    command.Parse(argc, argv);
    try
    {
        PrintTable(options);
    }
    catch (const InputError& error)
    {
        std::cerr << error.what() << "\n";
        return 2;
    }
    return 0;
}

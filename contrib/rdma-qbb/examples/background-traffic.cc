/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// An RDMA message beside ordinary ns-3 applications on the same links, with pcap files to look at:
//   background-traffic --load=udp --gbps=80 --pcap=background
//   tshark -r background-0-0.pcap
//
// Hosts 0 and 1 send to host 2 through one switch, 100 Gb/s each: host 0 an RDMA message of 1 MB,
// host 1 UDP at a constant rate (OnOffApplication), or TCP as fast as it can (BulkSend).

#include "ns3/application-container.h"
#include "ns3/bulk-send-helper.h"
#include "ns3/cluster-topology.h"
#include "ns3/command-line.h"
#include "ns3/fabric-conf.h"
#include "ns3/input-error.h"
#include "ns3/on-off-helper.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"
#include "ns3/qbb-internet-helper.h"
#include "ns3/qbb-pcap-helper.h"
#include "ns3/rdma-fabric.h"
#include "ns3/simulator.h"

#include <cstdint>
#include <iostream>
#include <sstream>
#include <string>

using namespace ns3;

namespace
{

constexpr uint16_t SINK_PORT = 9;
constexpr uint64_t RDMA_BYTES = 1'000'000;
constexpr uint32_t RDMA_PAYLOAD = 1000;

/// Options of the command line.
struct Options
{
    std::string load{"udp"};
    double gbps{80};
    std::string pcap;
};

ApplicationContainer
InstallLoad(const Options& options, const RdmaFabric& fabric)
{
    const Ptr<Node> sender = fabric.GetNode(1);
    const Ptr<Node> receiver = fabric.GetNode(2);
    const std::string protocol =
        options.load == "tcp" ? "ns3::TcpSocketFactory" : "ns3::UdpSocketFactory";
    PacketSinkHelper sink(protocol, InetSocketAddress(Ipv4Address::GetAny(), SINK_PORT));
    const ApplicationContainer sinks = sink.Install(receiver);
    const InetSocketAddress destination(QbbInternetHelper::GetAddress(2), SINK_PORT);
    ApplicationContainer load;
    if (options.load == "tcp")
    {
        load = BulkSendHelper(protocol, destination).Install(sender);
    }
    else if (options.load == "udp")
    {
        OnOffHelper onOff(protocol, destination);
        onOff.SetConstantRate(DataRate(static_cast<uint64_t>(options.gbps * 1e9)), 1000);
        load = onOff.Install(sender);
    }
    else if (options.load != "none")
    {
        throw InputError("command line", 0, "--load=" + options.load, "udp, tcp or none");
    }
    load.Stop(MilliSeconds(1));
    return sinks;
}

void
Check(const Options& options)
{
    if (!(options.gbps >= 0.001 && options.gbps <= 1000))
    {
        throw InputError("command line",
                         0,
                         "--gbps is not a rate that the load may have",
                         "0.001 to 1000 Gb/s");
    }
}

void
Run(const Options& options)
{
    Check(options);
    std::istringstream links("4 1 3\n3\n0 3 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 100Gbps 1us 0\n");
    const ClusterTopology topology = ClusterTopology::Read(links, "star");
    std::istringstream keys("CC_MODE 1\nPACKET_PAYLOAD_SIZE " + std::to_string(RDMA_PAYLOAD) +
                            "\n");
    FabricConf conf = FabricConf::Read(keys, "conf");
    conf.Apply();
    Ptr<RdmaFabric> fabric = CreateObject<RdmaFabric>();
    fabric->Build(topology, conf);
    QbbInternetHelper(fabric).InstallAll();
    if (!options.pcap.empty())
    {
        for (uint32_t host = 0; host < topology.hostCount; ++host)
        {
            QbbPcapHelper(RDMA_PAYLOAD).EnablePcap(options.pcap, &fabric->GetDevice(host, 0));
        }
    }
    const ApplicationContainer sinks = InstallLoad(options, *fabric);

    RdmaConnectionOptions connection;
    connection.closeWhenDone = true;
    RdmaQueuePair* qp = fabric->GetDriver(0)->Connect(2, connection);
    double doneUs = 0;
    fabric->GetHw(0).PostMessage(
        *qp,
        RDMA_BYTES,
        [&doneUs] { doneUs = Simulator::Now().GetSeconds() * 1e6; },
        nullptr);
    Simulator::Run();

    const uint64_t received = DynamicCast<PacketSink>(sinks.Get(0))->GetTotalRx();
    std::cout << "RDMA message of " << RDMA_BYTES << " bytes: " << doneUs << " us\n"
              << options.load << " bytes received: " << received << "\n";
    Simulator::Destroy();
    fabric->Dispose();
}

} // namespace

int
main(int argc, char** argv)
{
    Time::SetResolution(Time::PS);
    Options options;
    CommandLine command;
    command.AddValue("load", "what host 1 sends: udp, tcp or none", options.load);
    command.AddValue("gbps", "rate of the UDP load in Gb/s, 0.001 to 1000", options.gbps);
    command.AddValue("pcap", "write the hosts' ports to files with this prefix", options.pcap);
    command.Parse(argc, argv);
    try
    {
        Run(options);
    }
    catch (const InputError& error)
    {
        std::cerr << error.what() << "\n";
        return 2;
    }
    return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
//
// Incast at a switch: some hosts send to one at the same time, and a TCP application beside them.
// Prints the completion time of each message, what PFC did, and what TCP got.
//
//   second-rdma --senders=7 --ns3::RdmaHw::CongestionControl=ns3::RdmaDcqcn
#include "ns3/boolean.h"
#include "ns3/bulk-send-helper.h"
#include "ns3/command-line.h"
#include "ns3/config.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"
#include "ns3/qbb-helper.h"
#include "ns3/qbb-internet-helper.h"
#include "ns3/rdma-client-helper.h"
#include "ns3/rdma-fabric.h"
#include "ns3/simulator.h"
#include "ns3/string.h"

#include <iostream>

using namespace ns3;

namespace
{

void
Report(std::string sender, uint64_t bytes, Time duration)
{
    std::cout << "host " << sender << ": " << bytes << " bytes in " << duration.As(Time::US)
              << "\n";
}

/// Let the last host send to the receiver by TCP as fast as it can, for a time.
Ptr<PacketSink>
InstallTcp(const NodeContainer& hosts, uint32_t receiver, Time stop)
{
    constexpr uint16_t PORT = 9;
    const std::string tcp = "ns3::TcpSocketFactory";
    BulkSendHelper bulk(tcp, InetSocketAddress(QbbInternetHelper::GetAddress(receiver), PORT));
    bulk.Install(hosts.Get(hosts.GetN() - 1)).Stop(stop);
    PacketSinkHelper sink(tcp, InetSocketAddress(Ipv4Address::GetAny(), PORT));
    return DynamicCast<PacketSink>(sink.Install(hosts.Get(receiver)).Get(0));
}

} // namespace

int
main(int argc, char* argv[])
{
    Time::SetResolution(Time::PS);
    // PFC alone holds the senders back, unless flags say otherwise.
    Config::SetDefault("ns3::RdmaHw::CongestionControl",
                       StringValue("ns3::RdmaNoCongestionControl"));
    Config::SetDefault("ns3::RdmaDriver::HasWindow", BooleanValue(false));
    uint32_t senders = 7;
    uint64_t bytes = 1 << 20;
    CommandLine command(__FILE__);
    command.AddValue("senders", "hosts that send by RDMA, 1 to 64", senders);
    command.AddValue("bytes", "what each of them sends", bytes);
    command.Parse(argc, argv);
    if (senders < 1 || senders > 64)
    {
        std::cerr << "--senders=" << senders << "; expected 1 to 64\n";
        return 2;
    }

    NodeContainer hosts(senders + 2); // the receiver is the first, the TCP sender the last
    RdmaHostHelper().Install(hosts);
    Ptr<Node> access = SwitchHelper().Create();
    QbbHelper qbb;
    qbb.SetDeviceAttribute("DataRate", StringValue("100Gb/s"));
    qbb.Install(hosts, access);
    Ptr<RdmaFabric> fabric = CreateObject<RdmaFabric>();
    fabric->Build(NodeContainer(hosts, access));
    QbbInternetHelper(fabric).InstallAll();

    RdmaClientHelper client(hosts.Get(0), bytes);
    for (uint32_t sender = 1; sender <= senders; ++sender)
    {
        ApplicationContainer installed = client.Install(hosts.Get(sender));
        installed.Get(0)->TraceConnect("Complete", std::to_string(sender), MakeCallback(&Report));
    }
    Ptr<PacketSink> sink = InstallTcp(hosts, 0, MilliSeconds(2));

    Simulator::Run();
    const FabricTotals totals = fabric->GetTotals();
    std::cout << "PFC: " << totals.pauses << " pauses, "
              << Time(PicoSeconds(static_cast<uint64_t>(totals.pausedPs.ToPs()))).As(Time::US)
              << " in all; " << totals.drops << " frames dropped\n"
              << "TCP: " << sink->GetTotalRx() << " bytes\n";
    Simulator::Destroy();
}

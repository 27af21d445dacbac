// SPDX-License-Identifier: GPL-2.0-only
//
// Two hosts at a switch; one sends a mebibyte to the other by RDMA. Prints its completion time.
//   first-rdma --ns3::RdmaHw::Mtu=4096 --ns3::RdmaHw::CongestionControl=ns3::RdmaHpcc
#include "ns3/command-line.h"
#include "ns3/qbb-helper.h"
#include "ns3/rdma-client-helper.h"
#include "ns3/rdma-fabric.h"
#include "ns3/simulator.h"
#include "ns3/string.h"

#include <iostream>

using namespace ns3;

static void
Report(uint64_t bytes, Time duration)
{
    std::cout << bytes << " bytes in " << duration.As(Time::US) << "\n";
}

int
main(int argc, char* argv[])
{
    Time::SetResolution(Time::PS);
    CommandLine(__FILE__).Parse(argc, argv);

    NodeContainer hosts(2);
    RdmaHostHelper().Install(hosts);
    Ptr<Node> access = SwitchHelper().Create();
    QbbHelper qbb;
    qbb.SetDeviceAttribute("DataRate", StringValue("400Gb/s"));
    qbb.SetChannelAttribute("Delay", StringValue("500ns"));
    qbb.Install(hosts, access);
    Ptr<RdmaFabric> fabric = CreateObject<RdmaFabric>();
    fabric->Build(NodeContainer(hosts, access));

    ApplicationContainer clients = RdmaClientHelper(hosts.Get(1), 1 << 20).Install(hosts.Get(0));
    clients.Get(0)->TraceConnectWithoutContext("Complete", MakeCallback(&Report));
    Simulator::Run();
    Simulator::Destroy();
}

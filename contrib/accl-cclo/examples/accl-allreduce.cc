// SPDX-License-Identifier: GPL-2.0-only
//
// Hosts whose NICs have ACCL's collective engine, at a switch: an AllReduce of float32 on real
// data.
//   accl-allreduce --ranks=256 --bytes=1048576 --ns3::CcloDataPlane::ClockPeriod=3ns
#include "ns3/cclo-helper.h"
#include "ns3/command-line.h"
#include "ns3/config.h"
#include "ns3/qbb-helper.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <iostream>
#include <numeric>

using namespace ns3;

int
main(int argc, char* argv[])
{
    Time::SetResolution(Time::PS);
    Config::SetDefault("ns3::RdmaHw::Mtu", UintegerValue(4096));
    uint32_t ranks = 8;
    uint32_t bytes = 1 << 20;
    CommandLine command(__FILE__);
    command.AddValue("ranks", "hosts, 1 to 300", ranks);
    command.AddValue("bytes", "operand of each, a multiple of 4, up to 256 MiB", bytes);
    command.Parse(argc, argv);
    if (ranks < 1 || ranks > 300 || bytes % 4 != 0 || bytes > 1 << 28)
    {
        std::cerr << "expected --ranks from 1 to 300, --bytes a multiple of 4 up to 268435456\n";
        return 2;
    }

    NodeContainer hosts(ranks);
    RdmaHostHelper().Install(hosts);
    Ptr<Node> access = SwitchHelper().Create();
    QbbHelper().Install(hosts, access);
    Ptr<RdmaFabric> fabric = CreateObject<RdmaFabric>();
    fabric->Build(NodeContainer(hosts, access));
    std::vector<uint32_t> numbers(ranks);
    std::iota(numbers.begin(), numbers.end(), 0);
    CcloHelper helper(fabric);
    helper.SetDriverAttribute("MaxRendezvousSize", UintegerValue(std::max(bytes, 32768U)));
    Time end;
    for (const Ptr<CcloDriver>& driver : helper.Install(numbers))
    {
        const CcloBuffer data = driver->Allocate(bytes / 4, CcloDataType::Float32);
        driver->Call({.operation = CcloOperation::AllReduce,
                      .count = bytes / 4,
                      .op0 = data,
                      .result = data},
                     [&end](uint32_t) { end = Simulator::Now(); });
    }
    Simulator::Run();
    std::cout << ranks << " ranks, " << bytes << " bytes: " << end.As(Time::US) << "\n";
    Simulator::Destroy();
}

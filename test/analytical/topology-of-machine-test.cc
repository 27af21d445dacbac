/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/network/machine-of-topology.h"
#include "astra-frontend/model/network/topology-of-machine.h"

#include <gtest/gtest.h>
#include <vector>

namespace AstraSim
{
namespace
{

/// Servers with an NVSwitch, with several, of a mesh, of GPUs alone, with shared NICs, with
/// several.
std::vector<MachineModel>
Machines()
{
    std::vector<MachineModel> machines(6);
    machines[1].nvswitchesPerServer = 4;
    machines[2].nvswitchesPerServer = 0;
    machines[2].isMesh = true;
    machines[2].nvlinkGBps = 350;
    machines[3].nvswitchesPerServer = 0;
    machines[3].gpusPerServer = 1;
    machines[4].gpusPerNic = 4;
    machines[5].nicsPerGpu = 2;
    for (MachineModel& machine : machines)
    {
        machine.networkDelay = 2'000'000;
    }
    return machines;
}

TEST(TopologyOfMachine, HasTheMachinesNumbers)
{
    for (const MachineModel& machine : Machines())
    {
        const auto topology = TopologyOfMachine(machine, 3);
        EXPECT_EQ(topology.hostCount, 3 * machine.gpusPerServer);
        const MachineModel found = MachineOfTopology(topology);
        EXPECT_EQ(found.gpusPerServer, machine.gpusPerServer);
        EXPECT_EQ(found.nvswitchesPerServer, machine.nvswitchesPerServer);
        EXPECT_EQ(found.isMesh, machine.isMesh);
        EXPECT_EQ(found.JoinsServers(), machine.JoinsServers());
        EXPECT_EQ(found.nvlinkGBps, machine.JoinsServers() ? machine.nvlinkGBps : 0);
        EXPECT_EQ(found.nicGBps, machine.nicGBps);
        EXPECT_EQ(found.nicsPerGpu, machine.nicsPerGpu);
        EXPECT_EQ(found.gpusPerNic, machine.gpusPerNic);
        EXPECT_EQ(found.networkDelay, machine.networkDelay);
        EXPECT_FALSE(found.isRailOnly);
    }
}

TEST(TopologyOfMachine, SharedNicsTakeAPartOfTheirRate)
{
    for (const MachineModel& machine : Machines())
    {
        auto topology = TopologyOfMachine(machine, 2);
        ScaleSharedNics(topology, 0.5);
        const double part = machine.gpusPerNic > 1 ? 0.5 : 1;
        EXPECT_EQ(MachineOfTopology(topology).nicGBps, part * machine.nicGBps);
    }
}

} // namespace
} // namespace AstraSim

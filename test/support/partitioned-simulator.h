/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PARTITIONED_SIMULATOR_H
#define PARTITIONED_SIMULATOR_H

#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/global-value.h"
#include "ns3/string.h"

#include <string>

namespace ns3
{

/// As long as it lives, the simulator is one that can run partitions.
class PartitionedSimulator
{
  public:
    /// @param apart make each node of a fabric a partition of its own
    explicit PartitionedSimulator(bool apart)
    {
        Set("ns3::QbbSimulatorImpl", apart);
    }

    ~PartitionedSimulator()
    {
        Set("ns3::DefaultSimulatorImpl", false);
    }

    PartitionedSimulator(const PartitionedSimulator&) = delete;
    PartitionedSimulator& operator=(const PartitionedSimulator&) = delete;

  private:
    static void Set(const std::string& simulator, bool apart)
    {
        GlobalValue::Bind("SimulatorImplementationType", StringValue(simulator));
        Config::SetDefault("ns3::RdmaFabric::PartitionPerNode", BooleanValue(apart));
    }
};

} // namespace ns3

#endif /* PARTITIONED_SIMULATOR_H */

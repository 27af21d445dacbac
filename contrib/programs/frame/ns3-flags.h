/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NS3_FLAGS_H
#define NS3_FLAGS_H

#include "rdma-qbb/model/input/idle-keys.h"

#include <string>
#include <vector>

namespace ns3
{

/// @return whether a flag names an attribute of a class, rightly or not, or a global value of ns-3
bool IsNs3Flag(const std::string& flag);

/**
 * Set defaults of ns-3 attributes and global values from flags such as `--ns3::RdmaHw::Mtu=4096`,
 * `--SchedulerType=ns3::MapScheduler` and `--RngRun=3`, as ns-3's own programs take them.
 * @param flags those that a program's own parser did not recognize
 * @throw InputError naming the first flag with an unknown name, an invalid value, or the name of an
 * earlier flag
 */
void ApplyNs3Flags(const std::vector<std::string>& flags);

/**
 * As ApplyNs3Environment() and then ApplyNs3Flags(), for a program that makes its fabric from a
 * topology file.
 * @return the attributes that they set
 * @throw InputError also for attributes that the file, or the class itself, sets in every object,
 * so that their defaults change nothing
 */
std::vector<GivenAttribute> ApplyNs3Overrides(const std::vector<std::string>& flags);

/**
 * @param name of a class, such as ns3::RdmaDcqcn
 * @return its attributes, those of its base classes included: name, default, description
 * @throw InputError if ns-3 does not know the class
 */
std::string AttributesHelp(const std::string& name);

/**
 * Set the defaults in ns-3's own variables NS_ATTRIBUTE_DEFAULT and NS_GLOBAL_VALUE
 * ("name=value;..."). They win over the configuration file, so call it after that, and before
 * flags, which win over them.
 * @throw InputError as ApplyNs3Flags()
 */
void ApplyNs3Environment();

/**
 * Run on QbbSimulatorImpl and TimingWheelScheduler, unless later flags name others: they give the
 * same results as ns-3's own, sooner. Call it before an event is scheduled.
 */
void UseFastSimulator();

/// Set ns-3 up as all programs have it: picoseconds, huge pages, the fast simulator. Called before
/// anything makes a Time or schedules an event.
void PrepareSimulator();

/// @return a function that returns the time that Simulator::Run() has reached, in picoseconds, to
/// any thread; 0 with other simulators than QbbSimulatorImpl, which do not tell
std::function<int64_t()> WatchSimulator();

/// End Simulator::Run() after the current event. Any thread may call it, the simulator's included.
void StopSimulatorFromAnyThread();

} // namespace ns3

#endif /* NS3_FLAGS_H */

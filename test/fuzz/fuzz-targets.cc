/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fuzz-targets.h"

#include "astra-frontend/model/chakra/chakra-trace.h"
#include "astra-frontend/model/estimate/busbw-table.h"
#include "astra-frontend/model/inference/input/request-source.h"
#include "astra-frontend/model/inference/input/serving-config.h"
#include "astra-frontend/model/system/logical-topology.h"
#include "astra-frontend/model/system/rank-list.h"
#include "astra-frontend/model/system/remote-memory.h"
#include "astra-frontend/model/system/system-config.h"
#include "astra-frontend/model/workload/kv-cache-workload.h"
#include "collectives/model/gpu/gpu-table.h"
#include "collectives/model/msccl/msccl-program.h"
#include "collectives/model/nccl/network-table.h"

#include "ns3/cluster-topology.h"
#include "ns3/fabric-conf.h"
#include "ns3/flow-file.h"
#include "ns3/input-error.h"
#include "ns3/layer-table.h"
#include "ns3/units.h"

#include <array>
#include <numeric>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace
{

/// A file in memory, for readers that take a path.
class MemoryFile
{
  public:
    explicit MemoryFile(std::string_view content)
        : m_descriptor(memfd_create("input", MFD_CLOEXEC)),
          m_path("/proc/self/fd/" + std::to_string(m_descriptor))
    {
        [[maybe_unused]] const auto written = write(m_descriptor, content.data(), content.size());
    }

    ~MemoryFile()
    {
        close(m_descriptor);
    }

    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;

    const std::string& Path() const
    {
        return m_path;
    }

  private:
    int m_descriptor;
    std::string m_path;
};

std::istringstream
Stream(std::string_view input)
{
    return std::istringstream(std::string(input));
}

ns3::ClusterTopology
Pair()
{
    auto text = Stream("3 1 2\n2\n2 0 100Gbps 1us 0\n2 1 100Gbps 1us 0\n");
    return ns3::ClusterTopology::Read(text, "pair");
}

void
ReadTopology(std::string_view input)
{
    auto text = Stream(input);
    ns3::ClusterTopology::Read(text, "input");
}

void
ReadConf(std::string_view input)
{
    auto text = Stream(input);
    ns3::FabricConf::Read(text, "input").Check();
}

void
ReadFlows(std::string_view input)
{
    static const ns3::ClusterTopology topology = Pair();
    ns3::CheckFlowFile(MemoryFile(input).Path(), topology);
}

void
ReadTraceNodes(std::string_view input)
{
    auto text = Stream(input);
    ns3::ReadTraceNodes(text, "input", 100);
}

void
ReadWorkload(std::string_view input)
{
    auto text = Stream(input);
    AstraSim::ReadLayerTable(text, "input");
}

void
ReadKvCache(std::string_view input)
{
    auto text = Stream(input);
    AstraSim::ReadKvCacheConfig(text, "input");
}

void
ReadServing(std::string_view input)
{
    auto text = Stream(input);
    AstraSim::ReadServingConfig(text, "input");
}

void
ReadTraceOfRequests(std::string_view input)
{
    auto text = Stream(input);
    AstraSim::ReadRequestTrace(text, "input", 1000, 1);
}

void
ReadBusbw(std::string_view input)
{
    auto text = Stream(input);
    AstraSim::BusbwTable::Read(text, "input");
}

void
ReadMsccl(std::string_view input)
{
    auto text = Stream(input);
    AstraSim::MscclProgram::Read(text, "input");
}

void
ReadGpuTable(std::string_view input)
{
    AstraSim::GpuTable::Read(MemoryFile(input).Path());
}

void
ReadNetworkTable(std::string_view input)
{
    AstraSim::NetworkTable::Read(MemoryFile(input).Path());
}

void
ReadSystem(std::string_view input)
{
    AstraSim::ReadSystemConfig(MemoryFile(input).Path());
}

void
ReadLogicalTopology(std::string_view input)
{
    AstraSim::ReadLogicalDimensions(MemoryFile(input).Path());
}

void
ReadCommunicators(std::string_view input)
{
    std::vector<int> ranks(16);
    std::iota(ranks.begin(), ranks.end(), 0);
    AstraSim::ReadCommunicators(MemoryFile(input).Path(), ranks);
}

void
ReadRemoteMemory(std::string_view input)
{
    AstraSim::ReadRemoteMemoryConfig(MemoryFile(input).Path());
}

void
ReadChakra(std::string_view input)
{
    const MemoryFile file(input);
    AstraSim::ChakraTrace trace(file.Path());
    AstraSim::ChakraNode node;
    while (trace.Next(node))
    {
    }
}

void
ReadJobPlacement(std::string_view input)
{
    AstraSim::ParseJobPlacement(std::string(input));
}

void
ReadUnits(std::string_view input)
{
    ns3::ParseDataRateBps(input);
    ns3::ParseTimePs(input);
    ns3::ParseScaled(input, 1000);
    ns3::ParseUnsigned(input);
    ns3::ParseReal(input);
}

constexpr std::array TARGETS = {
    FuzzTarget{"topology", &ReadTopology},
    FuzzTarget{"conf", &ReadConf},
    FuzzTarget{"flows", &ReadFlows},
    FuzzTarget{"trace-nodes", &ReadTraceNodes},
    FuzzTarget{"workload", &ReadWorkload},
    FuzzTarget{"kv-cache", &ReadKvCache},
    FuzzTarget{"serving", &ReadServing},
    FuzzTarget{"request-trace", &ReadTraceOfRequests},
    FuzzTarget{"busbw", &ReadBusbw},
    FuzzTarget{"gpu-table", &ReadGpuTable},
    FuzzTarget{"network-table", &ReadNetworkTable},
    FuzzTarget{"msccl", &ReadMsccl},
    FuzzTarget{"system", &ReadSystem},
    FuzzTarget{"logical-topology", &ReadLogicalTopology},
    FuzzTarget{"communicators", &ReadCommunicators},
    FuzzTarget{"remote-memory", &ReadRemoteMemory},
    FuzzTarget{"chakra", &ReadChakra},
    FuzzTarget{"job-placement", &ReadJobPlacement},
    FuzzTarget{"units", &ReadUnits},
};

} // namespace

std::span<const FuzzTarget>
FuzzTargets()
{
    return TARGETS;
}

bool
Takes(const FuzzTarget& target, std::string_view input)
{
    try
    {
        target.read(input);
        return true;
    }
    catch (const ns3::InputError&)
    {
        return false;
    }
}

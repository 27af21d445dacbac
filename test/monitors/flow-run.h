/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLOW_RUN_H
#define FLOW_RUN_H

#include "ns3/fabric-conf.h"
#include "ns3/fabric-monitors.h"
#include "ns3/flow-runner.h"
#include "ns3/rdma-fabric.h"
#include "ns3/simulator.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace ns3
{

/// A directory of a test's own that vanishes with it.
class ScratchDirectory
{
  public:
    ScratchDirectory()
    {
        std::string pattern = (std::filesystem::temp_directory_path() / "qbb-XXXXXX").string();
        m_path = mkdtemp(pattern.data());
    }

    ~ScratchDirectory()
    {
        std::filesystem::remove_all(m_path);
    }

    std::string operator/(const std::string& name) const
    {
        return (m_path / name).string();
    }

    std::string Path() const
    {
        return m_path.string();
    }

    std::vector<std::string> LinesOf(const std::string& name) const
    {
        std::ifstream file(m_path / name);
        std::vector<std::string> lines;
        for (std::string line; std::getline(file, line);)
        {
            lines.push_back(line);
        }
        return lines;
    }

  private:
    std::filesystem::path m_path;
};

/// A fabric, its flows and its monitors, from texts.
class FlowRun
{
  public:
    FlowRun(const std::string& topology,
            const std::string& conf,
            const std::string& flows,
            const std::vector<uint32_t>& traceNodes = {})
    {
        if (Time::GetResolution() != Time::PS)
        {
            Time::SetResolution(Time::PS); // ns-3 takes it once per process
        }
        std::istringstream topologyText(topology);
        m_topology = ClusterTopology::Read(topologyText, "topology");
        std::istringstream confText(conf);
        m_conf = FabricConf::Read(confText, "conf");
        std::ofstream(m_directory / "flows") << flows;
        m_fabric = CreateObject<RdmaFabric>();
        m_fabric->Build(m_topology, m_conf);
        m_monitors = std::make_unique<FabricMonitors>(*m_fabric,
                                                      m_conf,
                                                      m_directory.Path(),
                                                      m_warnings,
                                                      traceNodes);
        m_runner = std::make_unique<FlowRunner>(*m_fabric, m_directory / "flows");
    }

    ~FlowRun()
    {
        m_monitors.reset();
        m_runner.reset();
        Simulator::Destroy();
        m_fabric->Dispose();
    }

    void Run(int64_t stopPs = 0)
    {
        m_runner->Start([this] {
            m_monitors->StopSampling();
            m_runner->CloseConnections();
        });
        if (stopPs)
        {
            Simulator::Stop(PicoSeconds(stopPs));
        }
        Simulator::Run();
        m_monitors->Finish();
    }

    std::vector<std::string> Lines(const std::string& file) const
    {
        return m_directory.LinesOf(file);
    }

    RdmaFabric& Fabric()
    {
        return *m_fabric;
    }

    FlowRunner& Runner()
    {
        return *m_runner;
    }

  private:
    ScratchDirectory m_directory;
    ClusterTopology m_topology;
    FabricConf m_conf;
    std::vector<std::string> m_warnings;
    Ptr<RdmaFabric> m_fabric;
    std::unique_ptr<FabricMonitors> m_monitors;
    std::unique_ptr<FlowRunner> m_runner;
};

/// Hosts around one switch, which has the highest id; 100 Gb/s and 1 us each.
inline std::string
Star(uint32_t hosts)
{
    std::string text = std::to_string(hosts + 1) + " 1 " + std::to_string(hosts) + "\n" +
                       std::to_string(hosts) + "\n";
    for (uint32_t host = 0; host < hosts; ++host)
    {
        text += std::to_string(host) + " " + std::to_string(hosts) + " 100Gbps 1us 0\n";
    }
    return text;
}

/// No congestion control and no window: hosts send at line rate.
inline const char* const LINE_RATE = "CC_MODE 0\nHAS_WIN 0\nPACKET_PAYLOAD_SIZE 1000\n"
                                     "BUFFER_SIZE 32\nENABLE_QCN 0\n";

} // namespace ns3

#endif /* FLOW_RUN_H */

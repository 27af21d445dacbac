/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLOW_RUN_H
#define FLOW_RUN_H

#include "../../contrib/rdma-qbb/test/text-fabric.h"
#include "../support/scratch-directory.h"

#include "ns3/fabric-monitors.h"
#include "ns3/flow-runner.h"

#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace ns3
{

/// A fabric, its flows and its monitors, from texts.
class FlowRun
{
  public:
    FlowRun(const std::string& topology,
            const std::string& conf,
            const std::string& flows,
            const std::vector<uint32_t>& traceNodes = {})
        : m_text(topology, conf)
    {
        std::ofstream(m_directory / "flows") << flows;
        m_monitors = std::make_unique<FabricMonitors>(Fabric(),
                                                      m_text.conf,
                                                      m_directory.Path(),
                                                      m_warnings,
                                                      traceNodes);
        m_runner = std::make_unique<FlowRunner>(Fabric(), m_directory / "flows");
    }

    ~FlowRun()
    {
        m_monitors.reset();
        m_runner.reset();
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
        return *m_text.fabric;
    }

    FlowRunner& Runner()
    {
        return *m_runner;
    }

  private:
    ScratchDirectory m_directory;
    BuiltFabric m_text;
    std::vector<std::string> m_warnings;
    std::unique_ptr<FabricMonitors> m_monitors;
    std::unique_ptr<FlowRunner> m_runner;
};

/// Hosts around one switch, which has the highest id; 100 Gb/s and 1 us each.
inline std::string
Star(uint32_t hosts)
{
    return TextFabric::Star(hosts, "100Gbps", "1us");
}

/// No congestion control and no window: hosts send at line rate.
inline const char* const LINE_RATE = "CC_MODE 0\nHAS_WIN 0\nPACKET_PAYLOAD_SIZE 1000\n"
                                     "BUFFER_SIZE 32\nENABLE_QCN 0\n";

} // namespace ns3

#endif /* FLOW_RUN_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-monitors.h"

#include "bandwidth-monitor.h"
#include "cnp-monitor.h"
#include "fabric-monitor.h"
#include "fct-monitor.h"
#include "packet-event-monitor.h"
#include "pauses-writer.h"
#include "pfc-monitor.h"
#include "qlen-monitor.h"
#include "rate-monitor.h"
#include "rdma-qbb/fabric/fabric-identity.h"

#include "ns3/object-factory.h"

#include <filesystem>
#include <system_error>

namespace ns3
{

FabricMonitors::FabricMonitors(RdmaFabric& fabric,
                               const FabricConf& conf,
                               const std::string& outputDirectory,
                               std::vector<std::string>& warnings,
                               const std::vector<uint32_t>& traceNodes)
    : m_fabric(fabric),
      m_pausesPath(outputDirectory + "/pauses.csv")
{
    std::error_code error; // an unusable directory is reported when the first file is placed in it
    std::filesystem::create_directories(outputDirectory, error);
    std::vector<std::string> moved;
    const auto place = [&](const char* key, const std::string& path) {
        return ResolveOutputPath(key, path, outputDirectory, moved);
    };
    const SamplingTimes pairs{conf.monStartPs, conf.monEndPs, conf.qpMonIntervalPs};
    const SamplingTimes bandwidth{conf.monStartPs, conf.monEndPs, conf.bwMonIntervalPs};
    const SamplingTimes queues{conf.qlenMonStartPs->value_or(conf.monStartPs),
                               conf.qlenMonEndPs->value_or(conf.monEndPs),
                               conf.qlenMonIntervalPs};

    m_fct = std::make_unique<FctMonitor>(fabric, place("FCT_OUTPUT_FILE", conf.fctOutputFile));
    // PFC_OUTPUT_FILE is a key of the HPCC simulator: a file that is asked for has its format.
    m_pfc = std::make_unique<PfcMonitor>(fabric,
                                         place("PFC_OUTPUT_FILE", conf.pfcOutputFile),
                                         !conf.IsGiven("PFC_OUTPUT_FILE"));
    m_qlen =
        std::make_unique<QlenMonitor>(fabric, place("QLEN_MON_FILE", conf.qlenMonFile), queues);
    m_bandwidth =
        std::make_unique<BandwidthMonitor>(fabric, place("BW_MON_FILE", conf.bwMonFile), bandwidth);
    m_rate = std::make_unique<RateMonitor>(fabric, place("RATE_MON_FILE", conf.rateMonFile), pairs);
    m_cnp = std::make_unique<CnpMonitor>(fabric, place("CNP_MON_FILE", conf.cnpMonFile), pairs);
    if (conf.enableTrace && !traceNodes.empty())
    {
        static_cast<void>(*conf.traceFile); // the caller has read the nodes from it, if it is given
        m_packets =
            std::make_unique<PacketEventMonitor>(fabric,
                                                 place("TRACE_OUTPUT_FILE", conf.traceOutputFile),
                                                 traceNodes);
    }
    for (const std::string& type : *conf.monitors)
    {
        m_plugIns.push_back(ObjectFactory(type).Create<FabricMonitor>());
        m_plugIns.back()->Start(fabric, outputDirectory);
    }
    WarnOfMoved(moved, outputDirectory, warnings);
}

FabricMonitors::~FabricMonitors() = default;

std::vector<std::string>
FabricMonitors::FileNames(const FabricConf& conf)
{
    return {conf.fctOutputFile.Look(),
            conf.pfcOutputFile.Look(),
            conf.qlenMonFile.Look(),
            conf.bwMonFile.Look(),
            conf.rateMonFile.Look(),
            conf.cnpMonFile.Look(),
            conf.traceOutputFile.Look()};
}

void
FabricMonitors::StopSampling()
{
    m_qlen->Stop();
    m_bandwidth->Stop();
    m_rate->Stop();
    m_cnp->Stop();
    for (const Ptr<FabricMonitor>& monitor : m_plugIns)
    {
        monitor->StopSampling();
    }
}

void
FabricMonitors::Finish()
{
    StopSampling();
    m_fct->Finish();
    m_pfc->Finish();
    m_qlen->Finish();
    m_bandwidth->Finish();
    m_rate->Finish();
    m_cnp->Finish();
    WritePauses(m_fabric, m_pausesPath);
    if (m_packets)
    {
        m_packets->Finish();
    }
    for (const Ptr<FabricMonitor>& monitor : m_plugIns)
    {
        monitor->Finish();
    }
}

} // namespace ns3

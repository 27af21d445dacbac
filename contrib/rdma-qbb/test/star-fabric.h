/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef STAR_FABRIC_H
#define STAR_FABRIC_H

#include "text-topology.h"

#include "ns3/cluster-topology.h"
#include "ns3/fabric-routes.h"
#include "ns3/nstime.h"
#include "ns3/object-factory.h"
#include "ns3/path-timing.h"
#include "ns3/pint-encoder.h"
#include "ns3/qbb-channel.h"
#include "ns3/qbb-net-device.h"
#include "ns3/rdma-congestion-ops.h"
#include "ns3/rdma-hw.h"
#include "ns3/simulator.h"
#include "ns3/switch-mmu.h"
#include "ns3/switch-node.h"
#include "ns3/uinteger.h"

#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace ns3
{

/// Parameters of a StarFabric.
struct StarFabricConfig
{
    uint32_t senders{2};
    uint64_t rateBps{100'000'000'000};
    Time delay{MicroSeconds(1)}; ///< of each link
    std::string congestion{"ns3::RdmaNoCongestionControl"};
    EcnThresholds ecn{};
    uint32_t mtu{1000};
    /// Changes the attributes of the congestion control, if set.
    std::function<void(RdmaCongestionOps&)> tune{};
};

/**
 * @brief Senders and one receiver around a switch: the smallest fabric with a bottleneck.
 *
 * Built from the parts themselves, so that a test sees exactly what it measures. Samples the
 * bottleneck's queue every microsecond from StartSampling() on.
 */
class StarFabric
{
  public:
    explicit StarFabric(const StarFabricConfig& config)
        : m_config(config),
          m_topology(MakeTopology(config)),
          m_routes(m_topology)
    {
        m_switch = CreateObject<SwitchNode>();
        for (uint32_t host = 0; host <= config.senders; ++host)
        {
            AddHost(host);
        }
        SwitchMmu& mmu = *m_switch->GetMmu();
        mmu.SetPorts(config.senders + 1);
        for (uint32_t port = 0; port <= config.senders; ++port)
        {
            mmu.ConfigurePort(port,
                              config.rateBps,
                              config.delay.GetPicoSeconds(),
                              config.mtu + 200,
                              8);
            mmu.SetEcn(port, config.ecn);
        }
        mmu.Partition();
        m_switch->SetForwardingTable(&m_routes.Table(config.senders + 1));
        if (m_ops->GetTelemetry() == RdmaCongestionOps::Telemetry::Pint)
        {
            auto encoder = CreateObject<PintEncoder>();
            encoder->SetAttribute("BaseRtt", TimeValue(PicoSeconds(GetBaseRttPs())));
            encoder->AssignStreams(100);
            m_switch->SetPintEncoder(encoder);
        }
        m_switch->AssignStreams(1);
        m_switch->Initialize();
    }

    ~StarFabric()
    {
        Simulator::Destroy();
        for (const Ptr<Node>& node : m_nodes)
        {
            node->Dispose();
        }
        m_switch->Dispose();
        for (const Ptr<RdmaHw>& host : m_hosts)
        {
            host->Dispose();
        }
    }

    /// @return round trip of a full frame and its ACK on the idle fabric
    int64_t GetBaseRttPs() const
    {
        const RdmaHw& host = *m_hosts.front();
        const double bits =
            8.0 * (host.GetDataWireBytes(m_config.mtu, false) + host.GetAckWireBytes(false));
        return 4 * m_config.delay.GetPicoSeconds() +
               2 * static_cast<int64_t>(bits * 1e12 / static_cast<double>(m_config.rateBps));
    }

    /// @return bytes of a full frame on the wire
    uint32_t GetFrameBytes() const
    {
        return m_hosts.front()->GetDataWireBytes(m_config.mtu, false);
    }

    /// Connect a sender to the receiver and post a message. @return the sender's queue pair
    RdmaQueuePair& Send(uint32_t sender, uint64_t bytes)
    {
        RdmaQueuePairConfig config;
        config.peer = PeekPointer(m_hosts.back());
        config.sport = static_cast<uint16_t>(10000 + sender);
        config.dport = 100;
        config.baseRttPs = GetBaseRttPs();
        config.bdpBytes = BdpBytes(m_config.rateBps, GetBaseRttPs());
        config.flightBytes = config.bdpBytes;
        RdmaQueuePair* qp = m_hosts[sender]->Connect(config);
        m_hosts[sender]->PostMessage(*qp, bytes, {}, [this] { m_lastDelivery = Simulator::Now(); });
        return *qp;
    }

    /// @return bytes in the queue towards the receiver
    uint64_t GetQueueBytes() const
    {
        return m_switch->GetPort(static_cast<uint16_t>(m_config.senders)).GetQueueBytes();
    }

    /// @return bytes on the wire that left the bottleneck so far
    uint64_t GetBottleneckBytes() const
    {
        return m_switch->GetPort(static_cast<uint16_t>(m_config.senders)).GetTxBytes();
    }

    /// @return when the last message was delivered
    Time GetLastDeliveryTime() const
    {
        return m_lastDelivery;
    }

    /// @return the congestion control of all hosts
    RdmaCongestionOps& GetOps() const
    {
        return *m_ops;
    }

    RdmaHw& GetHost(uint32_t host) const
    {
        return *m_hosts[host];
    }

    /// Forget samples and take one each microsecond from now on.
    void StartSampling()
    {
        m_samples.clear();
        m_sampledBytes = GetBottleneckBytes();
        m_sampledSince = Simulator::Now();
        if (!m_sampling)
        {
            m_sampling = true;
            Sample();
        }
    }

    /// @return queue samples in bytes
    const std::vector<uint64_t>& GetSamples() const
    {
        return m_samples;
    }

    /// @return mean of the queue samples in bytes
    double GetMeanQueue() const
    {
        double sum = 0;
        for (const uint64_t sample : m_samples)
        {
            sum += static_cast<double>(sample);
        }
        return sum / static_cast<double>(m_samples.size());
    }

    /// @return part of the bottleneck's line rate in use since StartSampling()
    double GetUtilization() const
    {
        const double bits = 8.0 * static_cast<double>(GetBottleneckBytes() - m_sampledBytes);
        return bits / (static_cast<double>(m_config.rateBps) *
                       (Simulator::Now() - m_sampledSince).GetSeconds());
    }

    /// Run for some time more.
    static void Run(Time time)
    {
        Simulator::Stop(time);
        Simulator::Run();
    }

  private:
    static ClusterTopology MakeTopology(const StarFabricConfig& config)
    {
        const uint32_t hub = config.senders + 1;
        std::ostringstream text;
        text << hub + 1 << " 1 " << hub << "\n" << hub << "\n";
        for (uint32_t host = 0; host < hub; ++host)
        {
            text << host << " " << hub << " " << config.rateBps << "bps "
                 << config.delay.GetPicoSeconds() << "ps 0\n";
        }
        return ReadTopology(text.str(), "star");
    }

    void AddHost(uint32_t index)
    {
        if (!m_ops)
        {
            m_ops = ObjectFactory(m_config.congestion).Create<RdmaCongestionOps>();
            if (m_config.tune)
            {
                m_config.tune(*m_ops);
            }
            m_ops->AssignStreams(50);
        }
        auto node = CreateObject<Node>();
        const DataRateValue rate{DataRate(m_config.rateBps)};
        auto nic = CreateObjectWithAttributes<QbbNetDevice>("DataRate", rate);
        auto port = CreateObjectWithAttributes<QbbNetDevice>("DataRate", rate);
        node->AddDevice(nic);
        m_switch->AddDevice(port);
        auto channel = CreateObjectWithAttributes<QbbChannel>("Delay", TimeValue(m_config.delay));
        nic->Attach(channel);
        port->Attach(channel);
        m_switch->AddPort(port);
        auto host = CreateObjectWithAttributes<RdmaHw>("Mtu", UintegerValue(m_config.mtu));
        host->SetHostIndex(index);
        host->SetCongestionOps(m_ops);
        host->AddNic(nic);
        nic->Initialize();
        port->Initialize();
        m_nodes.push_back(node);
        m_hosts.push_back(host);
    }

    void Sample()
    {
        m_samples.push_back(GetQueueBytes());
        Simulator::Schedule(MicroSeconds(1), &StarFabric::Sample, this);
    }

    StarFabricConfig m_config;
    ClusterTopology m_topology;
    FabricRoutes m_routes;
    Ptr<SwitchNode> m_switch;
    Ptr<RdmaCongestionOps> m_ops;
    std::vector<Ptr<Node>> m_nodes;
    std::vector<Ptr<RdmaHw>> m_hosts;
    std::vector<uint64_t> m_samples;
    uint64_t m_sampledBytes{0};
    Time m_sampledSince;
    Time m_lastDelivery;
    bool m_sampling{false};
};

} // namespace ns3

#endif /* STAR_FABRIC_H */

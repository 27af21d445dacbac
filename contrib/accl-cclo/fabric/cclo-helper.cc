/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cclo-helper.h"

#include "accl-cclo/model/network/cclo-rdma-engine.h"
#include "accl-cclo/model/network/cclo-tcp-engine.h"

#include "ns3/abort.h"
#include "ns3/ipv4.h"
#include "ns3/qbb-internet-helper.h"
#include "ns3/type-id.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

namespace ns3
{

constexpr const char* PROTOCOLS =
    "expected ns3::CcloRdmaEngine, ns3::CcloUdpEngine, ns3::CcloTcpEngine, or a subclass";

CcloHelper::CcloHelper(Ptr<RdmaFabric> fabric)
    : m_fabric(fabric),
      m_rdmaPeers(std::make_shared<std::vector<CcloRdmaEngine*>>()),
      m_tcpPeers(std::make_shared<std::map<Ipv4Address, CcloTcpEngine*>>())
{
    m_driver.SetTypeId("ns3::CcloDriver");
    m_engine.SetTypeId("ns3::CcloEngine");
}

void
CcloHelper::SetDriverAttribute(const std::string& name, const AttributeValue& value)
{
    m_driver.Set(name, value);
}

void
CcloHelper::SetEngineAttribute(const std::string& name, const AttributeValue& value)
{
    m_engine.Set(name, value);
}

void
CcloHelper::SetProtocol(const std::string& typeName)
{
    TypeId type;
    if (!TypeId::LookupByNameFailSafe(typeName, &type))
    {
        throw std::invalid_argument(
            fmt::format("\"{}\" is not the name of a protocol engine; {}", typeName, PROTOCOLS));
    }
    m_engine.Set("Protocol", TypeIdValue(type));
}

Ptr<CcloProtocolEngine>
CcloHelper::MakeNetwork(uint32_t host, const CcloEngine& engine)
{
    TypeIdValue type;
    engine.GetAttribute("Protocol", type);
    if (!type.Get().IsChildOf(CcloProtocolEngine::GetTypeId()))
    {
        throw std::invalid_argument(
            fmt::format("{} is not a protocol engine; {}", type.Get().GetName(), PROTOCOLS));
    }
    ObjectFactory factory;
    factory.SetTypeId(type.Get());
    Ptr<CcloProtocolEngine> network = factory.Create<CcloProtocolEngine>();
    if (Ptr<CcloRdmaEngine> rdma = DynamicCast<CcloRdmaEngine>(network))
    {
        rdma->Install(m_fabric->GetDriver(host), m_rdmaPeers);
        m_fabric->TraceConnectWithoutContext("RoutesChanged",
                                             MakeCallback(&CcloRdmaEngine::OnRoutesChanged, rdma));
    }
    if (Ptr<CcloSocketEngine> sockets = DynamicCast<CcloSocketEngine>(network))
    {
        Ptr<Node> node = m_fabric->GetNode(m_fabric->GetTopology().NodeOfHost(host));
        if (!node->GetObject<Ipv4>())
        {
            QbbInternetHelper(m_fabric).Install(host);
        }
        sockets->Install(node, QbbInternetHelper::GetAddress(host));
    }
    if (Ptr<CcloTcpEngine> tcp = DynamicCast<CcloTcpEngine>(network))
    {
        tcp->SetPeers(m_tcpPeers);
    }
    return network;
}

CcloRank
CcloHelper::MakeRank(uint32_t host) const
{
    UintegerValue size;
    m_driver.Create<CcloDriver>()->GetAttribute("RxBufferSize", size);
    return {.ip = QbbInternetHelper::GetAddress(host),
            .port = 5500,
            .session = host,
            .maxSegmentSize = static_cast<uint32_t>(size.Get())};
}

std::vector<Ptr<CcloDriver>>
CcloHelper::Install(const std::vector<uint32_t>& hosts)
{
    const CcloRank pattern = MakeRank(0);
    std::vector<CcloRank> ranks;
    for (const uint32_t host : hosts)
    {
        CcloRank rank = pattern;
        rank.ip = QbbInternetHelper::GetAddress(host);
        rank.session = host;
        ranks.push_back(rank);
    }
    std::vector<Ptr<CcloDriver>> drivers;
    for (uint32_t rank = 0; rank < hosts.size(); ++rank)
    {
        Ptr<CcloDriver> driver = m_driver.Create<CcloDriver>();
        Ptr<CcloEngine> engine = m_engine.Create<CcloEngine>();
        UintegerValue buffers;
        driver->GetAttribute("RxBuffers", buffers);
        UintegerValue room;
        engine->GetAttribute("ExchangeMemorySize", room);
        const uint32_t needed =
            CcloDriver::NeededExchangeMemory(engine->GetRxBufferLayout(),
                                             static_cast<uint32_t>(buffers.Get()),
                                             static_cast<uint32_t>(ranks.size()));
        // In whole pages of 4 KiB.
        engine->SetAttribute(
            "ExchangeMemorySize",
            UintegerValue(std::max<uint64_t>(room.Get(), (needed + 0xFFFU) & ~0xFFFU)));
        engine->Install(MakeNetwork(hosts[rank], *engine));
        const uint32_t node = m_fabric->GetTopology().NodeOfHost(hosts[rank]);
        m_fabric->GetNode(node)->AggregateObject(engine);
        m_fabric->GetNode(node)->AggregateObject(driver);
        driver->SetEngine(engine);
        drivers.push_back(driver);
    }
    for (uint32_t rank = 0; rank < drivers.size(); ++rank)
    {
        drivers[rank]->Initialize(ranks, rank);
    }
    return drivers;
}

std::vector<std::string>
CcloHelper::DescribeWaits(const std::vector<Ptr<CcloDriver>>& drivers)
{
    std::vector<std::string> lines;
    for (uint32_t rank = 0; rank < drivers.size(); ++rank)
    {
        for (const std::string& line : drivers[rank]->GetEngine()->DescribeWaits())
        {
            lines.push_back(fmt::format("rank {}: {}", rank, line));
        }
    }
    return lines;
}

} // namespace ns3

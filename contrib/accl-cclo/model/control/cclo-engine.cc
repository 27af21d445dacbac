/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cclo-engine.h"

#include "accl-cclo/model/network/cclo-rdma-engine.h"

#include "ns3/boolean.h"
#include "ns3/log.h"
#include "ns3/pointer.h"
#include "ns3/simulator.h"
#include "ns3/trace-source-accessor.h"
#include "ns3/type-id.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("CcloEngine");

NS_OBJECT_ENSURE_REGISTERED(CcloEngine);

TypeId
CcloEngine::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::CcloEngine")
            .SetParent<Object>()
            .SetGroupName("AcclCclo")
            .AddConstructor<CcloEngine>()
            .AddAttribute("ExchangeMemorySize",
                          "Bytes of the address space shared with the host; 24 per rank of each "
                          "communicator are needed (ACCL has 8 KiB)",
                          UintegerValue(0x2000),
                          MakeUintegerAccessor(&CcloEngine::m_exchangeBytes),
                          MakeUintegerChecker<uint32_t>(0x1000))
            .AddAttribute("OlderRxBuffers",
                          "Whether exchange memory describes rx buffers by 9 words each from 0x804 "
                          "on, as ACCL's older documentation has it (with an ExchangeMemorySize of "
                          "4096); else by 7 words each from 0x808 on, as Xilinx/ACCL@723d8ec does",
                          BooleanValue(false),
                          MakeBooleanAccessor(&CcloEngine::m_olderRxBuffers),
                          MakeBooleanChecker())
            .AddAttribute("Contents",
                          "Whether buffers and messages hold bytes; without, only time passes",
                          BooleanValue(true),
                          MakeBooleanAccessor(&CcloEngine::m_contents),
                          MakeBooleanChecker())
            .AddAttribute("StreamLoopback",
                          "Whether what the engine writes to a kernel comes back on the stream "
                          "from the kernel, as with ACCL's loopback kernel",
                          BooleanValue(false),
                          MakeBooleanAccessor(&CcloEngine::m_streamLoopback),
                          MakeBooleanChecker())
            .AddAttribute("Protocol",
                          "How it reaches others: ns3::CcloRdmaEngine, ns3::CcloUdpEngine or "
                          "ns3::CcloTcpEngine",
                          TypeIdValue(CcloRdmaEngine::GetTypeId()),
                          MakeTypeIdAccessor(&CcloEngine::m_protocol),
                          MakeTypeIdChecker())
            .AddAttribute("Firmware",
                          "The control plane",
                          PointerValue(),
                          MakePointerAccessor(&CcloEngine::m_firmware),
                          MakePointerChecker<CcloFirmware>())
            .AddAttribute("DataPlane",
                          "The data plane",
                          PointerValue(),
                          MakePointerAccessor(&CcloEngine::m_dataPlane),
                          MakePointerChecker<CcloDataPlane>())
            .AddAttribute("ProtocolEngine",
                          "The way to other engines",
                          PointerValue(),
                          MakePointerAccessor(&CcloEngine::m_network),
                          MakePointerChecker<CcloProtocolEngine>())
            .AddTraceSource("RxBufferStall",
                            "A message has arrived that no rx buffer is free for",
                            MakeTraceSourceAccessor(&CcloEngine::m_rxBufferStall),
                            "ns3::CcloEngine::RxBufferStallCallback");
    return tid;
}

CcloEngine::CcloEngine() = default;

CcloEngine::~CcloEngine() = default;

void
CcloEngine::Install(Ptr<CcloProtocolEngine> network)
{
    m_network = network;
    m_network->SetListener(this);
    m_network->SetContents(m_contents);
    m_exchange = std::make_unique<CcloExchangeMemory>(m_exchangeBytes, GetRxBufferLayout());
    m_memory = std::make_unique<CcloMemory>(m_contents);
    m_rxBuffers = std::make_unique<CcloRxBuffers>(*m_exchange, *m_memory);
    m_dataPlane = CreateObject<CcloDataPlane>();
    m_firmware = CreateObject<CcloFirmware>();
    m_dataPlane->Install(*m_exchange, *m_memory, *m_rxBuffers, *m_network, *m_firmware);
    m_firmware->Install(*m_exchange, *m_memory, *m_rxBuffers, *m_dataPlane, *m_network);
    m_firmware->SetReleaseHandler([this] { TakeArrivals(); });
    m_exchange->SetStartHandler([this](const CcloCall& call) { StartHostCall(call); });
    if (m_streamLoopback)
    {
        m_dataPlane->SetStreamSink([this](uint32_t, CcloBytes&& data, uint64_t bytes) {
            m_dataPlane->PushStream(std::move(data), bytes);
        });
    }
}

void
CcloEngine::DoDispose()
{
    for (const Ptr<Object>& part :
         {Ptr<Object>(m_firmware), Ptr<Object>(m_dataPlane), Ptr<Object>(m_network)})
    {
        if (part)
        {
            part->Dispose();
        }
    }
    m_firmware = nullptr;
    m_dataPlane = nullptr;
    m_network = nullptr;
    m_arrivals.clear();
    Object::DoDispose();
}

void
CcloEngine::Call(const CcloCall& call, CcloFirmware::Completion done)
{
    m_firmware->Call(call, std::move(done));
}

void
CcloEngine::StartHostCall(const CcloCall& call)
{
    m_firmware->Call(call, [this](uint32_t) { m_exchange->SetDone(); });
}

void
CcloEngine::OnRoom()
{
    m_dataPlane->OnProgress();
}

void
CcloEngine::OnMessage(uint32_t session, CcloMessage&& message)
{
    NS_LOG_LOGIC("session " << session << " brings " << message.header);
    m_arrivals.push_back({session, std::move(message)});
    if (m_arrivals.size() == 1)
    {
        TakeArrivals();
    }
}

void
CcloEngine::TakeArrivals()
{
    while (!m_arrivals.empty() && Place(m_arrivals.front()))
    {
        m_arrivals.pop_front();
    }
}

bool
CcloEngine::Place(Arrival& arrival)
{
    const CcloHeader& header = arrival.message.header;
    switch (header.type)
    {
    case CcloMessageType::Eager:
        return PlaceEager(arrival);
    case CcloMessageType::RendezvousData:
        Write(arrival.message);
        return true;
    case CcloMessageType::RendezvousAddress:
    case CcloMessageType::RendezvousDone:
        break;
    }
    if (!m_firmware->ReserveNotification())
    {
        return false;
    }
    Simulator::Schedule(m_dataPlane->GetDepacketizerLatency(),
                        &CcloFirmware::OnNotification,
                        m_firmware,
                        header);
    return true;
}

void
CcloEngine::Write(const CcloMessage& message)
{
    const CcloHeader& header = message.header;
    if (!m_memory->Contains(header.address, header.count))
    {
        ++m_badWrites;
        NS_LOG_ERROR("a peer writes " << header.count << " bytes to address " << header.address
                                      << ", which no buffer has");
        return;
    }
    const std::span<uint8_t> place = m_memory->At(header.address, header.count);
    std::copy_n(message.data.begin(), place.size(), place.begin());
}

bool
CcloEngine::PlaceEager(Arrival& arrival)
{
    CcloMessage& message = arrival.message;
    const CcloHeader& header = message.header;
    if (header.stream != 0)
    {
        m_network->OnConsumed(arrival.session, header);
        m_dataPlane->DeliverToStream(header.stream, std::move(message.data), header.count);
        return true;
    }
    if (!m_rxBuffers->HasEnqueued())
    {
        if (!arrival.waited)
        {
            arrival.waited = true;
            NS_LOG_LOGIC("no rx buffer for " << header);
            m_rxBufferStall(arrival.session, header);
        }
        return false;
    }
    const uint32_t buffer = m_rxBuffers->Fill(header, message.data);
    m_network->OnConsumed(arrival.session, header);
    // Data from the wire were stored as they came; a message that waited for a buffer is stored
    // now.
    const uint64_t address = m_exchange->Read(
        m_exchange->GetRxBuffers().AddressOf(buffer, CcloRxBufferTable::ADDRESS_LOW));
    const Time stored = m_dataPlane->GetDepacketizerLatency() +
                        m_dataPlane->GetWriteTime(address, arrival.waited ? header.count : 0);
    Simulator::Schedule(stored, [this, buffer] {
        m_rxBuffers->Announce(buffer);
        m_dataPlane->OnProgress();
    });
    return true;
}

bool
CcloEngine::IsIdle() const
{
    return m_firmware->GetPendingCalls() == 0 && m_dataPlane->GetUnfinished() == 0 &&
           m_arrivals.empty();
}

std::vector<std::string>
CcloEngine::DescribeWaits() const
{
    std::vector<std::string> lines = m_firmware->DescribeWaits();
    const auto append = [&lines](const std::vector<std::string>& more) {
        lines.insert(lines.end(), more.begin(), more.end());
    };
    append(m_dataPlane->DescribeWaits());
    if (!m_arrivals.empty())
    {
        const CcloHeader& header = m_arrivals.front().message.header;
        const std::string place =
            header.type == CcloMessageType::Eager
                ? fmt::format("the rx buffers, all {} of which are full", m_rxBuffers->GetCount())
                : fmt::format("the firmware, which has {} notifications that no call has used",
                              m_firmware->GetNotifications());
        lines.push_back(fmt::format("{} messages wait in front of {}; the first is of rank {}, "
                                    "sequence {}",
                                    m_arrivals.size(),
                                    place,
                                    header.source,
                                    header.sequence));
    }
    append(m_rxBuffers->DescribeWaiting());
    if (!lines.empty() || !m_network->IsOpen())
    {
        append(m_network->DescribeWaits());
    }
    return lines;
}

} // namespace ns3

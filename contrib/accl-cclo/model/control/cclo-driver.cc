/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cclo-driver.h"

#include "ns3/abort.h"
#include "ns3/log.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <stdexcept>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("CcloDriver");

NS_OBJECT_ENSURE_REGISTERED(CcloDriver);

constexpr std::array<std::pair<CcloDataType, CcloDataType>, 6> TYPES = {
    {{CcloDataType::Float16, CcloDataType::Float16},
     {CcloDataType::Float32, CcloDataType::Float16},
     {CcloDataType::Float32, CcloDataType::Float32},
     {CcloDataType::Float64, CcloDataType::Float64},
     {CcloDataType::Int32, CcloDataType::Int32},
     {CcloDataType::Int64, CcloDataType::Int64}}};

TypeId
CcloDriver::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::CcloDriver")
            .SetParent<Object>()
            .SetGroupName("AcclCclo")
            .AddConstructor<CcloDriver>()
            .AddAttribute("RxBuffers",
                          "Rx buffers for eager messages (ACCL's default)",
                          UintegerValue(16),
                          MakeUintegerAccessor(&CcloDriver::m_rxBuffers),
                          MakeUintegerChecker<uint32_t>(1, 512))
            .AddAttribute("RxBufferSize",
                          "Bytes of each, and of an eager message (ACCL's default)",
                          UintegerValue(1024),
                          MakeUintegerAccessor(&CcloDriver::m_rxBufferSize),
                          MakeUintegerChecker<uint32_t>(64))
            .AddAttribute("MaxEagerSize",
                          "Operands of more bytes go by rendezvous (ACCL's default; at least "
                          "RxBufferSize)",
                          UintegerValue(1024),
                          MakeUintegerAccessor(&CcloDriver::m_maxEagerSize),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("MaxRendezvousSize",
                          "Bytes of each spare buffer: the largest operand of a reduction by "
                          "rendezvous (ACCL's default)",
                          UintegerValue(32768),
                          MakeUintegerAccessor(&CcloDriver::m_maxRendezvousSize),
                          MakeUintegerChecker<uint64_t>(1, UINT32_MAX))
            .AddAttribute("GatherMaxFanIn",
                          "Peers that write to a gather's root at a time if their data are large "
                          "(ACCL's default)",
                          UintegerValue(2),
                          MakeUintegerAccessor(&CcloDriver::m_gatherMaxFanIn),
                          MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("GatherFlatMaxBytes",
                          "Bytes per rank up to which all write at a time (ACCL's default)",
                          UintegerValue(32768),
                          MakeUintegerAccessor(&CcloDriver::m_gatherFlatMaxBytes),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("BcastFlatMaxRanks",
                          "Ranks up to which the root of a broadcast writes to each; binomial tree "
                          "beyond (ACCL's default)",
                          UintegerValue(3),
                          MakeUintegerAccessor(&CcloDriver::m_bcastFlatMaxRanks),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("ReduceFlatMaxRanks",
                          "Ranks up to which all write to the root of a reduction; binary tree "
                          "beyond (ACCL's default)",
                          UintegerValue(4),
                          MakeUintegerAccessor(&CcloDriver::m_reduceFlatMaxRanks),
                          MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("ReduceFlatMaxBytes",
                          "Bytes up to which they do so whatever their number; at most "
                          "MaxRendezvousSize over ReduceFlatMaxRanks (ACCL's default)",
                          UintegerValue(32768),
                          MakeUintegerAccessor(&CcloDriver::m_reduceFlatMaxBytes),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("InvocationLatency",
                          "From the host's call to the engine (an assumption: the few microseconds "
                          "of Coyote; tens by XRT, none from a kernel)",
                          TimeValue(MicroSeconds(2)),
                          MakeTimeAccessor(&CcloDriver::m_invocationLatency),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("CompletionLatency",
                          "From the engine to the host that waits (an assumption: a read by PCIe)",
                          TimeValue(MicroSeconds(1)),
                          MakeTimeAccessor(&CcloDriver::m_completionLatency),
                          MakeTimeChecker(Time(0)));
    return tid;
}

CcloDriver::CcloDriver() = default;

CcloDriver::~CcloDriver() = default;

void
CcloDriver::DoDispose()
{
    m_engine = nullptr;
    m_requests.clear();
    Object::DoDispose();
}

void
CcloDriver::SetEngine(Ptr<CcloEngine> engine)
{
    m_engine = engine;
    m_engine->GetExchangeMemory().SetInterruptHandler([this] { OnInterrupt(); });
    m_engine->GetProtocolEngine()->SetOpenedHandler([this] {
        if (std::exchange(m_waitsForSessions, false))
        {
            StartNext();
        }
    });
}

uint32_t
CcloDriver::NeededExchangeMemory(CcloRxBufferLayout layout, uint32_t rxBuffers, uint32_t ranks)
{
    const uint32_t records = CcloRxBufferTable(layout).EndOf(rxBuffers);
    const uint32_t types = 4 * 9 * static_cast<uint32_t>(TYPES.size());
    return CcloCommunicator::EndOf(records, ranks) + types + CcloExchangeMemory::GATHER_MAX_FAN_IN;
}

void
CcloDriver::CheckRoom(uint32_t end) const
{
    if (end > m_engine->GetExchangeMemory().EndOfRecords())
    {
        throw std::invalid_argument(
            fmt::format("the records of a collective engine end at {:#x}, but its exchange memory "
                        "has room up to {:#x}; expected a larger ns3::CcloEngine::"
                        "ExchangeMemorySize",
                        end,
                        m_engine->GetExchangeMemory().EndOfRecords()));
    }
}

void
CcloDriver::CheckThresholds() const
{
    if (m_maxEagerSize < m_rxBufferSize)
    {
        throw std::invalid_argument(fmt::format("ns3::CcloDriver::MaxEagerSize is {}; expected "
                                                "RxBufferSize, which is {}, or more",
                                                m_maxEagerSize,
                                                m_rxBufferSize));
    }
    if (m_maxRendezvousSize <= m_maxEagerSize)
    {
        throw std::invalid_argument(fmt::format("ns3::CcloDriver::MaxEagerSize is {}; expected "
                                                "less than MaxRendezvousSize, which is {}",
                                                m_maxEagerSize,
                                                m_maxRendezvousSize));
    }
}

void
CcloDriver::Initialize(const std::vector<CcloRank>& ranks, uint32_t localRank)
{
    NS_LOG_INFO("rank " << localRank << " of " << ranks.size() << " is initialized");
    CcloExchangeMemory& memory = m_engine->GetExchangeMemory();
    const uint32_t configured = memory.GetSize() - CcloExchangeMemory::CONFIGURED;
    if (memory.HostRead(configured) != 0)
    {
        throw std::invalid_argument("a collective engine is configured already; expected "
                                    "Deinitialize() before Initialize()");
    }
    CheckThresholds();
    SetUpRxBuffers();
    SetUpSpareBuffers();
    AddCommunicator(ranks, localRank);
    SetUpArithmetic();
    SetUpThresholds();
    memory.HostWrite(configured, 1);
    Configure(CcloConfigFunction::SetTimeout, 1000000);
    Configure(CcloConfigFunction::SetMaxEagerSize, m_maxEagerSize);
    Configure(CcloConfigFunction::SetMaxRendezvousSize, static_cast<uint32_t>(m_maxRendezvousSize));
    Configure(CcloConfigFunction::EnablePackets, 0);
}

void
CcloDriver::SetUpRxBuffers()
{
    CcloExchangeMemory& memory = m_engine->GetExchangeMemory();
    const CcloRxBufferTable table = memory.GetRxBuffers();
    m_nextAddress = table.EndOf(m_rxBuffers);
    CheckRoom(m_nextAddress);
    for (uint32_t buffer = 0; buffer < m_rxBuffers; ++buffer)
    {
        table.Describe(memory,
                       buffer,
                       m_engine->GetMemory().Allocate(m_rxBufferSize),
                       m_rxBufferSize);
    }
    // Written last: the engine takes a number above 0 as the sign that the buffers are described.
    memory.HostWrite(CcloExchangeMemory::RX_BUFFER_COUNT, m_rxBuffers);
}

void
CcloDriver::Write64FromEnd(uint32_t distance, uint64_t value)
{
    CcloExchangeMemory& memory = m_engine->GetExchangeMemory();
    memory.HostWrite(memory.GetSize() - distance, static_cast<uint32_t>(value));
    memory.HostWrite(memory.GetSize() - distance + 4, static_cast<uint32_t>(value >> 32));
}

void
CcloDriver::SetUpSpareBuffers()
{
    for (uint32_t i = 0; i < 3; ++i)
    {
        Write64FromEnd(CcloExchangeMemory::SPARE_BUFFERS - 8 * i,
                       m_engine->GetMemory().Allocate(m_maxRendezvousSize));
    }
}

uint32_t
CcloDriver::AddCommunicator(const std::vector<CcloRank>& ranks, uint32_t localRank)
{
    if (localRank >= ranks.size())
    {
        throw std::invalid_argument(fmt::format("rank {} is not one of a communicator of {} ranks",
                                                localRank,
                                                ranks.size()));
    }
    const auto size = static_cast<uint32_t>(ranks.size());
    const uint32_t address = m_nextAddress;
    m_nextAddress = CcloCommunicator::EndOf(address, size);
    CheckRoom(m_nextAddress);
    CcloExchangeMemory& memory = m_engine->GetExchangeMemory();
    memory.HostWrite(address, size);
    memory.HostWrite(address + 4, localRank);
    uint32_t at = address + 8;
    for (const CcloRank& rank : m_engine->GetProtocolEngine()->Open(ranks, localRank))
    {
        for (const uint32_t word :
             {rank.ip.Get(), rank.port, 0U, 0U, rank.session, rank.maxSegmentSize})
        {
            memory.HostWrite(at, word);
            at += 4;
        }
    }
    m_communicators.push_back(address);
    return static_cast<uint32_t>(m_communicators.size() - 1);
}

void
CcloDriver::SetUpArithmetic()
{
    for (const auto& [type, compressed] : TYPES)
    {
        const CcloArithmeticConfig config = CcloArithmeticConfig::Of(type, compressed);
        m_arithmetic[{type, compressed}] = m_nextAddress;
        CheckRoom(m_nextAddress + 4 * (7 + static_cast<uint32_t>(config.functions.size())));
        m_nextAddress = config.Write(m_engine->GetExchangeMemory(), m_nextAddress);
    }
}

void
CcloDriver::SetUpThresholds()
{
    CcloExchangeMemory& memory = m_engine->GetExchangeMemory();
    const auto write = [&](uint32_t distance, uint32_t value) {
        memory.HostWrite(memory.GetSize() - distance, value);
    };
    write(CcloExchangeMemory::GATHER_MAX_FAN_IN, m_gatherMaxFanIn);
    write(CcloExchangeMemory::GATHER_FLAT_MAX_BYTES, m_gatherFlatMaxBytes);
    write(CcloExchangeMemory::BCAST_FLAT_MAX_RANKS, m_bcastFlatMaxRanks);
    write(CcloExchangeMemory::REDUCE_FLAT_MAX_RANKS, m_reduceFlatMaxRanks);
    const uint64_t fits = m_maxRendezvousSize / m_reduceFlatMaxRanks;
    write(CcloExchangeMemory::REDUCE_FLAT_MAX_BYTES,
          static_cast<uint32_t>(std::min<uint64_t>(fits, m_reduceFlatMaxBytes)));
}

void
CcloDriver::Configure(CcloConfigFunction function, uint32_t value)
{
    CcloCall call;
    call.operation = CcloOperation::Config;
    call.function = static_cast<uint32_t>(function);
    call.count = value;
    // Not queued behind other calls, as the host spends no time on it.
    m_engine->Call(call, [function](uint32_t result) {
        NS_ABORT_MSG_IF(result != CcloError::NONE,
                        "configuration " << static_cast<uint32_t>(function)
                                         << " of a collective engine: " << CcloErrorNames(result));
    });
}

void
CcloDriver::Deinitialize()
{
    NS_LOG_FUNCTION(this);
    CcloCall call;
    call.operation = CcloOperation::Config;
    call.function = static_cast<uint32_t>(CcloConfigFunction::Reset);
    // Not queued behind other calls: some may never end, except by this reset.
    m_engine->Call(call, [this](uint32_t) {
        m_engine->GetProtocolEngine()->Close();
        m_communicators.clear();
        m_arithmetic.clear();
    });
}

CcloBuffer
CcloDriver::Allocate(uint64_t count, CcloDataType type, CcloMemoryKind kind)
{
    return {m_engine->GetMemory().Allocate(count * CcloDataTypeBytes(type), kind), type, count};
}

std::span<uint8_t>
CcloDriver::Access(const CcloBuffer& buffer)
{
    return m_engine->GetMemory().At(buffer.address, buffer.count * CcloDataTypeBytes(buffer.type));
}

CcloCall
CcloDriver::MakeCall(const CcloRequest& request) const
{
    CcloCall call;
    call.operation = request.operation;
    call.count = request.count;
    call.communicator = m_communicators.at(request.communicator);
    call.peer = request.peer;
    call.function = static_cast<uint32_t>(request.function);
    call.tag = request.tag;
    std::set<CcloDataType> types;
    uint32_t hosts = 0;
    const auto operand = [&](const std::optional<CcloBuffer>& buffer, uint32_t hostFlag) {
        if (!buffer)
        {
            return uint64_t{0};
        }
        types.insert(buffer->type);
        hosts |= CcloMemory::KindOf(buffer->address) == CcloMemoryKind::Host ? hostFlag : 0;
        return buffer->address;
    };
    call.op0 = operand(request.op0, CcloHostOperand::OP0);
    call.op1 = operand(request.op1, CcloHostOperand::OP1);
    call.result = operand(request.result, CcloHostOperand::RESULT);
    if (request.streams || types.empty())
    {
        types.insert(request.streamType);
    }
    // The larger type is plain; the smaller one, or the wire's, is the compressed one.
    const auto smaller = [](CcloDataType a, CcloDataType b) {
        return CcloDataTypeBytes(a) < CcloDataTypeBytes(b);
    };
    CcloDataType plain = *std::ranges::max_element(types, smaller);
    CcloDataType compressed = *std::ranges::min_element(types, smaller);
    if (request.wireType)
    {
        compressed = *request.wireType;
        plain = plain == compressed ? CcloDataType::Float32 : plain;
        call.compression |= CcloCompression::WIRE;
    }
    const auto found = m_arithmetic.find({plain, compressed});
    if (found == m_arithmetic.end() || types.size() > 2)
    {
        throw std::invalid_argument(fmt::format("{} and {} do not go together in one call",
                                                CcloDataTypeName(plain),
                                                CcloDataTypeName(compressed)));
    }
    call.arithmeticConfig = found->second;
    if (plain != compressed)
    {
        const auto flag = [&](const std::optional<CcloBuffer>& buffer, uint32_t bit) {
            call.compression |= buffer && buffer->type == compressed ? bit : 0;
        };
        flag(request.op0, CcloCompression::OP0);
        flag(request.op1, CcloCompression::OP1);
        flag(request.result, CcloCompression::RESULT);
    }
    call.bufferFlags = request.streams | hosts << 8;
    return call;
}

void
CcloDriver::Call(const CcloRequest& request, Done done)
{
    Enqueue(MakeCall(request), std::move(done));
}

void
CcloDriver::Enqueue(const CcloCall& call, Done done)
{
    NS_LOG_LOGIC(CcloOperationName(call.operation)
                 << " of " << call.count << " elements waits behind " << m_requests.size()
                 << " calls");
    m_requests.push_back({call, std::move(done)});
    if (m_requests.size() == 1)
    {
        StartNext();
    }
}

void
CcloDriver::StartNext()
{
    m_waitsForSessions = !m_engine->GetProtocolEngine()->IsOpen();
    if (m_waitsForSessions)
    {
        NS_LOG_LOGIC("calls wait for sessions to open");
        return;
    }
    Simulator::Schedule(m_invocationLatency, [this] {
        NS_LOG_INFO("starts " << CcloOperationName(m_requests.front().call.operation));
        CcloExchangeMemory& memory = m_engine->GetExchangeMemory();
        const auto words = m_requests.front().call.ToWords();
        for (uint32_t i = 0; i < CcloCall::WORDS; ++i)
        {
            memory.HostWrite(CcloExchangeMemory::CALL_REGISTERS[i], words[i]);
        }
        memory.HostWrite(CcloExchangeMemory::CONTROL, CcloExchangeMemory::CONTROL_START);
    });
}

void
CcloDriver::OnInterrupt()
{
    Simulator::Schedule(m_completionLatency, [this] {
        CcloExchangeMemory& memory = m_engine->GetExchangeMemory();
        memory.HostRead(CcloExchangeMemory::CONTROL);
        const uint32_t value = memory.HostRead(memory.GetSize() - CcloExchangeMemory::RETURN_VALUE);
        NS_LOG_INFO(CcloOperationName(m_requests.front().call.operation)
                    << " returns " << CcloErrorNames(value));
        const Done done = std::move(m_requests.front().done);
        m_requests.pop_front();
        if (!m_requests.empty())
        {
            StartNext();
        }
        if (done)
        {
            done(value);
        }
    });
}

uint32_t
CcloDriver::GetHardwareId()
{
    CcloExchangeMemory& memory = m_engine->GetExchangeMemory();
    return memory.HostRead(memory.GetSize() - CcloExchangeMemory::HARDWARE_ID);
}

uint32_t
CcloDriver::GetCycles()
{
    CcloExchangeMemory& memory = m_engine->GetExchangeMemory();
    return memory.HostRead(memory.GetSize() - CcloExchangeMemory::PERFORMANCE_COUNTER);
}

std::vector<std::string>
CcloDriver::DumpRxBuffers()
{
    CcloExchangeMemory& memory = m_engine->GetExchangeMemory();
    std::vector<std::string> lines;
    for (uint32_t buffer = 0; buffer < m_rxBuffers; ++buffer)
    {
        const auto word = [&](CcloRxBufferTable::Field field) {
            return memory.HostRead(memory.GetRxBuffers().AddressOf(buffer, field));
        };
        const uint32_t status = word(CcloRxBufferTable::STATUS);
        const char* name = status == CcloRxBufferTable::IDLE       ? "IDLE"
                           : status == CcloRxBufferTable::ENQUEUED ? "ENQUEUED"
                           : status == CcloRxBufferTable::RESERVED ? "RESERVED"
                                                                   : "ERROR";
        lines.push_back(fmt::format("rx buffer {}: address {:#x} {} {} of {} bytes, tag {:x}, "
                                    "sequence {}, source {}",
                                    buffer,
                                    word(CcloRxBufferTable::ADDRESS_LOW),
                                    name,
                                    word(CcloRxBufferTable::LENGTH),
                                    m_rxBufferSize,
                                    word(CcloRxBufferTable::TAG),
                                    word(CcloRxBufferTable::SEQUENCE),
                                    word(CcloRxBufferTable::SOURCE)));
    }
    return lines;
}

} // namespace ns3

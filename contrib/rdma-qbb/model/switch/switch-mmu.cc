/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "switch-mmu.h"

#include "ns3/abort.h"
#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/log.h"
#include "ns3/nstime.h"
#include "ns3/object-factory.h"
#include "ns3/pointer.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/string.h"
#include "ns3/type-id.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("SwitchMmu");

// Each frame is counted at its ingress (port, priority), for room and PFC, and at its egress
// queue, for ECN. An ingress first fills its reserve, then the shared pool (SharedOf,
// m_sharedUsed) up to its threshold; beyond that, a lossless frame goes to headroom and a lossy
// one is dropped (Take). The queue that a lossy frame leaves by may have a bound, too
// (QueueMayTake). Partition() cuts the buffer into reserves, headroom and shared pool;
// Derive() sizes the headroom by the port's rate and delay. The dynamic threshold falls as the
// pool fills, so one total of bytes exists below which no ingress can be at its threshold.
// WorkOutEasyBytes() finds it, and below it AdmitEasily() and PassThrough(), in the header,
// count a frame without a look at thresholds, unless its ingress is paused or uses headroom.

NS_OBJECT_ENSURE_REGISTERED(SwitchMmu);

namespace
{

/// A PFC frame with preamble and gap.
constexpr uint32_t PFC_WIRE_BYTES = 84;

// Carried out here, without objects.
constexpr const char* DYNAMIC = "ns3::DynamicThresholds";
constexpr const char* STATIC = "ns3::StaticThresholds";

} // namespace

TypeId
SwitchMmu::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::SwitchMmu")
            .SetParent<Object>()
            .SetGroupName("RdmaQbb")
            .AddConstructor<SwitchMmu>()
            .AddAttribute("BufferBytes",
                          "Packet buffer of the switch",
                          UintegerValue(16 << 20),
                          MakeUintegerAccessor(
                              &SwitchMmu::SetAndPartition<&SwitchMmu::m_bufferBytes, uint64_t>,
                              &SwitchMmu::Get<&SwitchMmu::m_bufferBytes, uint64_t>),
                          MakeUintegerChecker<uint64_t>(1))
            .AddAttribute(
                "ReserveBytes",
                "Bytes guaranteed to each (ingress port, lossless priority), or to a lossy "
                "priority where none is lossless",
                UintegerValue(4096),
                MakeUintegerAccessor(&SwitchMmu::SetAndPartition<&SwitchMmu::m_reserve, uint64_t>,
                                     &SwitchMmu::Get<&SwitchMmu::m_reserve, uint64_t>),
                MakeUintegerChecker<uint64_t>())
            .AddAttribute("ResumeOffset",
                          "Bytes below the pause threshold at which a partner is resumed",
                          UintegerValue(3072),
                          MakeUintegerAccessor(
                              &SwitchMmu::SetAndPartition<&SwitchMmu::m_resumeOffset, uint64_t>,
                              &SwitchMmu::Get<&SwitchMmu::m_resumeOffset, uint64_t>),
                          MakeUintegerChecker<uint64_t>())
            .AddAttribute(
                "DynamicThreshold",
                "Pause at alpha times the free shared buffer, else at StaticThreshold",
                BooleanValue(true),
                MakeBooleanAccessor(&SwitchMmu::SetAndPartition<&SwitchMmu::m_dynamic, bool>,
                                    &SwitchMmu::Get<&SwitchMmu::m_dynamic, bool>),
                MakeBooleanChecker())
            .AddAttribute("BufferPolicyType",
                          "Class of the plug-in that decides about the frames of a switch, a "
                          "BufferPolicy; ns3::BufferPolicy itself: as DynamicThreshold says",
                          TypeId::ATTR_GET | TypeId::ATTR_CONSTRUCT,
                          StringValue("ns3::BufferPolicy"),
                          MakeTypeIdAccessor(&SwitchMmu::SetPolicyType, &SwitchMmu::GetPolicyType),
                          MakeTypeIdChecker())
            .AddAttribute("BufferPolicy",
                          "The object of BufferPolicyType; null if that is built in",
                          TypeId::ATTR_GET,
                          PointerValue(),
                          MakePointerAccessor(&SwitchMmu::m_policyRef),
                          MakePointerChecker<BufferPolicy>())
            .AddAttribute(
                "StaticThreshold",
                "Shared bytes of an ingress at which its partner is paused; 0: the "
                "shared pool divided by the number of ports",
                UintegerValue(0),
                MakeUintegerAccessor(
                    &SwitchMmu::SetAndPartition<&SwitchMmu::m_configuredThreshold, uint64_t>,
                    &SwitchMmu::Get<&SwitchMmu::m_configuredThreshold, uint64_t>),
                MakeUintegerChecker<uint64_t>())
            .AddAttribute("LosslessMask",
                          "Bit p set: PFC protects priority p",
                          UintegerValue(1 << 3),
                          MakeUintegerAccessor(
                              &SwitchMmu::SetAndPartition<&SwitchMmu::m_losslessMask, uint8_t>,
                              &SwitchMmu::Get<&SwitchMmu::m_losslessMask, uint8_t>),
                          MakeUintegerChecker<uint8_t>(0, 0xfe))
            .AddAttribute(
                "LossyAlpha",
                "Share of the free shared buffer that an ingress of a lossy priority may "
                "take before its frames are dropped",
                DoubleValue(1.0),
                MakeDoubleAccessor(&SwitchMmu::SetAndPartition<&SwitchMmu::m_lossyAlpha, double>,
                                   &SwitchMmu::Get<&SwitchMmu::m_lossyAlpha, double>),
                MakeDoubleChecker<double>(0.0))
            .AddAttribute(
                "LossyQueueAlpha",
                "Share of the free shared buffer that an egress queue of a lossy priority may "
                "take before frames for it are dropped; 0: no bound of its own",
                DoubleValue(0),
                MakeDoubleAccessor(
                    &SwitchMmu::SetAndPartition<&SwitchMmu::m_lossyQueueAlpha, double>,
                    &SwitchMmu::Get<&SwitchMmu::m_lossyQueueAlpha, double>),
                MakeDoubleChecker<double>(0.0))
            .AddAttribute(
                "PfcResponseTime",
                "Time a partner takes from the last bit of a pause frame to its effect, "
                "for which headroom is kept (3840 bytes at 40 Gb/s)",
                TimeValue(NanoSeconds(768)),
                MakeTimeAccessor(&SwitchMmu::SetAndPartition<&SwitchMmu::m_responseTime, Time>,
                                 &SwitchMmu::Get<&SwitchMmu::m_responseTime, Time>),
                MakeTimeChecker(Time(0)))
            .AddAttribute(
                "Alpha",
                "Share of the free shared buffer that an ingress of a port as fast as "
                "the hosts' may take before its partner is paused",
                DoubleValue(0.125),
                MakeDoubleAccessor(&SwitchMmu::SetAndPartition<&SwitchMmu::m_alpha, double>,
                                   &SwitchMmu::Get<&SwitchMmu::m_alpha, double>),
                MakeDoubleChecker<double>(0.0))
            .AddAttribute(
                "EcnKmin",
                "Bytes of an egress queue up to which no frame is marked, by rate; not "
                "set: 100 KB per 25 Gb/s",
                RateMapValue(RateMap()),
                MakeRateMapAccessor(&SwitchMmu::SetAndPartition<&SwitchMmu::m_ecnKmin, RateMap>,
                                    &SwitchMmu::Get<&SwitchMmu::m_ecnKmin, RateMap>),
                MakeRateMapChecker())
            .AddAttribute(
                "EcnKmax",
                "Bytes of an egress queue from which every frame is marked, by rate; not "
                "set: 400 KB per 25 Gb/s",
                RateMapValue(RateMap()),
                MakeRateMapAccessor(&SwitchMmu::SetAndPartition<&SwitchMmu::m_ecnKmax, RateMap>,
                                    &SwitchMmu::Get<&SwitchMmu::m_ecnKmax, RateMap>),
                MakeRateMapChecker())
            .AddAttribute(
                "EcnPmax",
                "Probability of a mark just below EcnKmax, by rate; not set: 0.2",
                RateMapValue(RateMap()),
                MakeRateMapAccessor(&SwitchMmu::SetAndPartition<&SwitchMmu::m_ecnPmax, RateMap>,
                                    &SwitchMmu::Get<&SwitchMmu::m_ecnPmax, RateMap>),
                MakeRateMapChecker());
    return tid;
}

SwitchMmu::SwitchMmu()
{
    // Others' automatic streams do not depend on whether this one is ever made.
    RngSeedManager::GetNextStreamIndex();
}

SwitchMmu::~SwitchMmu() = default;

void
SwitchMmu::SetPolicyType(TypeId type)
{
    const TypeId base = BufferPolicy::GetTypeId();
    NS_ABORT_MSG_UNLESS(type == base || type.IsChildOf(base),
                        type.GetName() << " is not a BufferPolicy");
    const bool isDynamic = type.GetName() == DYNAMIC;
    const bool isStatic = type.GetName() == STATIC;
    m_dynamic = isDynamic || (m_dynamic && !isStatic);
    m_policyRef = nullptr;
    if (type != base && !isDynamic && !isStatic)
    {
        ObjectFactory factory;
        factory.SetTypeId(type);
        m_policyRef = factory.Create<BufferPolicy>();
    }
    m_policy = PeekPointer(m_policyRef);
    if (m_partitioned)
    {
        Partition();
    }
}

TypeId
SwitchMmu::GetPolicyType() const
{
    if (m_policy)
    {
        return m_policy->GetInstanceTypeId();
    }
    return TypeId::LookupByName(m_dynamic ? DYNAMIC : STATIC);
}

void
SwitchMmu::SetPorts(uint32_t ports)
{
    m_ports.assign(ports, Port());
    m_ingress.assign(static_cast<std::size_t>(ports) * PRIORITIES, Ingress());
    m_egress.assign(static_cast<std::size_t>(ports) * PRIORITIES, 0);
}

void
SwitchMmu::ConfigurePort(uint32_t port,
                         uint64_t rateBps,
                         int64_t delayPs,
                         uint32_t mtuWireBytes,
                         double alphaScale)
{
    NS_LOG_FUNCTION(this << port << rateBps << delayPs << mtuWireBytes << alphaScale);
    Port& configured = m_ports[port];
    configured.rateBps = rateBps;
    configured.delayPs = delayPs;
    configured.mtuWireBytes = mtuWireBytes;
    configured.alphaScale = static_cast<float>(alphaScale);
    Derive(configured);
}

void
SwitchMmu::Derive(Port& port) const
{
    const double bytesPerPs = static_cast<double>(port.rateBps) / 8e12;
    // Partners act at once here, so their response time is room for the frame that crosses the
    // threshold and for PFC frames of other priorities, unless these take longer.
    const double response =
        std::max(static_cast<double>(m_responseTime.GetTimeStep()) * bytesPerPs,
                 static_cast<double>(port.mtuWireBytes + PRIORITIES * PFC_WIRE_BYTES));
    const double onWire = 2.0 * port.delayPs * bytesPerPs + response;
    port.headroom = port.creditBytes ? port.creditBytes
                                     : static_cast<uint64_t>(onWire) + 1 + 2 * port.mtuWireBytes;
    port.alpha = m_alpha * port.alphaScale;
    if (!port.hasOwnEcn)
    {
        port.ecn = EcnFor(port.rateBps);
    }
}

void
SwitchMmu::SetCredits(uint32_t port, uint64_t bytes)
{
    m_ports[port].creditBytes = bytes;
    m_hasCredits = true;
}

void
SwitchMmu::SetEcn(uint32_t port, const EcnThresholds& thresholds)
{
    Present();
    m_ports[port].ecn = thresholds;
    m_ports[port].hasOwnEcn = true;
}

EcnThresholds
SwitchMmu::EcnFor(uint64_t rateBps) const
{
    const double scale = static_cast<double>(rateBps) / 25e9;
    const auto bytes = [](double value) { return static_cast<uint64_t>(std::llround(value)); };
    return {bytes(m_ecnKmin.At(rateBps).value_or(100e3 * scale)),
            bytes(m_ecnKmax.At(rateBps).value_or(400e3 * scale)),
            m_ecnPmax.At(rateBps).value_or(0.2)};
}

bool
SwitchMmu::ListsEcnFor(uint64_t rateBps) const
{
    return m_ecnKmin.Lists(rateBps) && m_ecnKmax.Lists(rateBps) && m_ecnPmax.Lists(rateBps);
}

uint64_t
SwitchMmu::GetAllHeadroom() const
{
    uint64_t bytes = 0;
    for (const Port& port : m_ports)
    {
        bytes += port.headroom;
    }
    return bytes * static_cast<uint64_t>(std::popcount(m_losslessMask));
}

uint64_t
SwitchMmu::Partition()
{
    for (Port& port : m_ports)
    {
        Derive(port);
    }
    const auto lossless = static_cast<uint64_t>(std::popcount(m_losslessMask));
    const uint64_t taken =
        m_ports.size() * std::max<uint64_t>(lossless, 1) * m_reserve + GetAllHeadroom();
    m_sharedBytes = taken < m_bufferBytes ? m_bufferBytes - taken : 0;
    m_commonBytes = lossless ? m_sharedBytes : m_bufferBytes;
    m_sharedUsed = 0;
    for (const Ingress& in : m_ingress)
    {
        m_sharedUsed += SharedOf(in);
    }
    m_staticThreshold = m_configuredThreshold
                            ? m_configuredThreshold
                            : m_sharedBytes / std::max<uint64_t>(m_ports.size(), 1);
    m_easyBytes = WorkOutEasyBytes();
    m_partitioned = true;
    NS_LOG_INFO(this << " shares " << m_sharedBytes << " of " << m_bufferBytes << " bytes among "
                     << m_ports.size() << " ports");
    return m_sharedBytes;
}

uint64_t
SwitchMmu::WorkOutEasyBytes() const
{
    if (m_policy || m_hasCredits)
    {
        return 0; // the second: each frame shall pass OnFrameDeparture(), which returns its credit
    }
    // An ingress holds at most the switch's bytes. Thresholds fall as the switch fills, so where
    // the total meets the lowest of them is found by bisection.
    const double lossyAlpha =
        m_lossyQueueAlpha > 0 ? std::min(m_lossyAlpha, m_lossyQueueAlpha) : m_lossyAlpha;
    const auto isEasy = [this, lossyAlpha](uint64_t total) {
        for (uint32_t port = 0; port < m_ports.size(); ++port)
        {
            if (total >= LosslessThresholdAt(port, total))
            {
                return false;
            }
        }
        return total <= m_sharedBytes &&
               total <= static_cast<uint64_t>(lossyAlpha * (m_sharedBytes - total));
    };
    uint64_t easy = 0;
    uint64_t beyond = m_sharedBytes + 1;
    while (beyond - easy > 1)
    {
        const uint64_t middle = easy + (beyond - easy) / 2;
        (isEasy(middle) ? easy : beyond) = middle;
    }
    return easy;
}

uint64_t
SwitchMmu::CountCommonBytes() const
{
    uint64_t bytes = m_sharedUsed;
    for (uint8_t priority = 1; priority < PRIORITIES; ++priority)
    {
        for (uint32_t port = 0; port < m_ports.size() && !IsLossless(priority); ++port)
        {
            const Ingress& in = m_ingress[IndexOf(port, priority)];
            bytes += in.bytes - SharedOf(in);
        }
    }
    return bytes;
}

bool
SwitchMmu::Admit(uint32_t inPort, uint32_t outPort, uint8_t priority, uint32_t bytes)
{
    if (m_totalBytes + m_controlBytes + bytes > m_bufferBytes ||
        (priority > 0 &&
         (!QueueMayTake(outPort, priority, bytes) || !Take(inPort, priority, bytes))))
    {
        NS_LOG_INFO(this << " has no room for " << bytes << " bytes of port " << inPort
                         << " priority " << +priority << ": " << m_sharedUsed << " of "
                         << m_sharedBytes << " shared bytes are used");
        return false;
    }
    if (priority > 0)
    {
        m_totalBytes += bytes;
        m_peakBytes = std::max(m_peakBytes, m_totalBytes);
    }
    else
    {
        m_controlBytes += bytes;
    }
    NS_LOG_LOGIC(this << " admits " << bytes << " bytes from port " << inPort << " to port "
                      << outPort << " priority " << +priority << "; " << m_sharedUsed
                      << " shared bytes are used");
    m_egress[IndexOf(outPort, priority)] += bytes;
    return true;
}

bool
SwitchMmu::QueueMayTake(uint32_t outPort, uint8_t priority, uint32_t bytes) const
{
    return m_lossyQueueAlpha == 0 || IsLossless(priority) ||
           m_egress[IndexOf(outPort, priority)] + bytes <=
               PartOfFree(m_lossyQueueAlpha, m_sharedUsed);
}

bool
SwitchMmu::Take(uint32_t inPort, uint8_t priority, uint32_t bytes)
{
    Ingress& in = m_ingress[IndexOf(inPort, priority)];
    const uint64_t before = SharedOf(in);
    const uint64_t after = in.bytes + bytes > m_reserve ? in.bytes + bytes - m_reserve : 0;
    bool fits;
    if (IsLossless(priority))
    {
        fits = after == 0 ||
               (after <= ThresholdAt(inPort, priority, m_sharedUsed) && Fits(after - before));
    }
    else
    {
        fits = Fits(bytes) &&
               (after == before || after <= ThresholdAt(inPort, priority, m_sharedUsed));
    }
    if (fits)
    {
        in.bytes += bytes;
        m_sharedUsed += after - before;
        return true;
    }
    if (!IsLossless(priority) || in.headroomBytes + bytes > m_ports[inPort].headroom)
    {
        return false;
    }
    in.headroomBytes += bytes;
    m_pressed = true;
    NS_LOG_LOGIC(this << " takes " << bytes << " bytes of port " << inPort << " priority "
                      << +priority << " into headroom, of which " << in.headroomBytes
                      << " are used");
    return true;
}

void
SwitchMmu::SetPaused(uint32_t port, uint8_t priority, bool paused)
{
    Ingress& in = m_ingress[IndexOf(port, priority)];
    NS_LOG_INFO(this << (paused ? " pauses" : " resumes") << " port " << port << " priority "
                     << +priority << ": " << SharedOf(in) << " shared bytes, threshold "
                     << ThresholdAt(port, priority, m_sharedUsed) << ", " << in.headroomBytes
                     << " bytes in headroom");
    in.paused = paused;
    m_pressed |= paused;
}

bool
SwitchMmu::StaysPaused(uint32_t port,
                       uint8_t priority,
                       const std::vector<BytesByPriority>& leftBytes) const
{
    Present();
    const auto after = [&](uint32_t at, uint8_t of) {
        // As Release(): bytes that leave are taken from the headroom first.
        Ingress in = m_ingress[IndexOf(at, of)];
        const uint64_t total = in.bytes + in.headroomBytes;
        const uint64_t leaves = total - std::min(total, leftBytes[at][of]);
        const uint64_t fromHeadroom = std::min(in.headroomBytes, leaves);
        in.headroomBytes -= fromHeadroom;
        in.bytes -= leaves - fromHeadroom;
        return in;
    };
    uint64_t sharedUsed = 0;
    for (uint32_t at = 0; at < m_ports.size(); ++at)
    {
        for (uint8_t of = 0; of < PRIORITIES; ++of)
        {
            sharedUsed += SharedOf(after(at, of));
        }
    }
    return m_ingress[IndexOf(port, priority)].paused &&
           !MayResume(after(port, priority), ThresholdAt(port, priority, sharedUsed), sharedUsed);
}

bool
SwitchMmu::DrawMark(const EcnThresholds& ecn, uint64_t queue)
{
    if (queue > ecn.kmaxBytes)
    {
        NS_LOG_LOGIC(this << " marks at " << queue << " bytes, more than kmax");
        return true;
    }
    const double probability = ecn.pmax * static_cast<double>(queue - ecn.kminBytes) /
                               static_cast<double>(ecn.kmaxBytes - ecn.kminBytes);
    if (!m_markVariable)
    {
        // Only now: the first stream costs ns-3 as much as a whole switch, and many never mark.
        m_markVariable = CreateObject<UniformRandomVariable>();
        m_markVariable->SetStream(m_markStream);
    }
    const bool marked = m_markVariable->GetValue() < probability;
    NS_LOG_LOGIC(this << (marked ? " marks" : " does not mark") << " at " << queue
                      << " bytes, with probability " << probability);
    return marked;
}

int64_t
SwitchMmu::AssignStreams(int64_t stream)
{
    m_markStream = stream;
    m_markVariable = nullptr;
    return 1 + (m_policy ? m_policy->AssignStreams(stream + 1) : 0);
}

} // namespace ns3

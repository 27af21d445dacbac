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

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("SwitchMmu");

// Each frame is counted at its ingress (port, priority), for room and PFC, and at its egress
// queue, for ECN. An ingress first fills its reserve, then the shared pool (SharedOf) up to its
// threshold; beyond that, a lossless frame goes to headroom and a lossy one is dropped (Take). The
// queue that a lossy frame leaves by may have a bound, too (QueueMayTake). BufferLimits cuts the
// buffer into reserves, headroom and shared pool, and BufferCounts has the bytes in each. The
// dynamic threshold falls as the pool fills, so one total of bytes exists below which no ingress
// can be at its threshold: BufferLimits::GetEasyBytes(). Below it, AdmitEasily() and PassThrough(),
// in the header, count a frame without a look at thresholds, unless its ingress is paused or uses
// headroom.

NS_OBJECT_ENSURE_REGISTERED(SwitchMmu);

namespace
{

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
                              &SwitchMmu::SetAndPartition<&BufferSettings::bufferBytes, uint64_t>,
                              &SwitchMmu::Get<&BufferSettings::bufferBytes, uint64_t>),
                          MakeUintegerChecker<uint64_t>(1))
            .AddAttribute(
                "ReserveBytes",
                "Bytes guaranteed to each (ingress port, lossless priority), or to a lossy "
                "priority where none is lossless",
                UintegerValue(4096),
                MakeUintegerAccessor(
                    &SwitchMmu::SetAndPartition<&BufferSettings::reserve, uint64_t>,
                    &SwitchMmu::Get<&BufferSettings::reserve, uint64_t>),
                MakeUintegerChecker<uint64_t>())
            .AddAttribute("ResumeOffset",
                          "Bytes below the pause threshold at which a partner is resumed",
                          UintegerValue(3072),
                          MakeUintegerAccessor(
                              &SwitchMmu::SetAndPartition<&BufferSettings::resumeOffset, uint64_t>,
                              &SwitchMmu::Get<&BufferSettings::resumeOffset, uint64_t>),
                          MakeUintegerChecker<uint64_t>())
            .AddAttribute(
                "DynamicThreshold",
                "Pause at alpha times the free shared buffer, else at StaticThreshold",
                BooleanValue(true),
                MakeBooleanAccessor(&SwitchMmu::SetAndPartition<&BufferSettings::dynamic, bool>,
                                    &SwitchMmu::Get<&BufferSettings::dynamic, bool>),
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
                    &SwitchMmu::SetAndPartition<&BufferSettings::staticThreshold, uint64_t>,
                    &SwitchMmu::Get<&BufferSettings::staticThreshold, uint64_t>),
                MakeUintegerChecker<uint64_t>())
            .AddAttribute("LosslessMask",
                          "Bit p set: PFC protects priority p",
                          UintegerValue(1 << 3),
                          MakeUintegerAccessor(
                              &SwitchMmu::SetAndPartition<&BufferSettings::losslessMask, uint8_t>,
                              &SwitchMmu::Get<&BufferSettings::losslessMask, uint8_t>),
                          MakeUintegerChecker<uint8_t>(0, 0xfe))
            .AddAttribute(
                "LossyAlpha",
                "Share of the free shared buffer that an ingress of a lossy priority may "
                "take before its frames are dropped",
                DoubleValue(1.0),
                MakeDoubleAccessor(&SwitchMmu::SetAndPartition<&BufferSettings::lossyAlpha, double>,
                                   &SwitchMmu::Get<&BufferSettings::lossyAlpha, double>),
                MakeDoubleChecker<double>(0.0))
            .AddAttribute(
                "LossyQueueAlpha",
                "Share of the free shared buffer that an egress queue of a lossy priority may "
                "take before frames for it are dropped; 0: no bound of its own",
                DoubleValue(0),
                MakeDoubleAccessor(
                    &SwitchMmu::SetAndPartition<&BufferSettings::lossyQueueAlpha, double>,
                    &SwitchMmu::Get<&BufferSettings::lossyQueueAlpha, double>),
                MakeDoubleChecker<double>(0.0))
            .AddAttribute(
                "PfcResponseTime",
                "Time a partner takes from the last bit of a pause frame to its effect, "
                "for which headroom is kept (3840 bytes at 40 Gb/s)",
                TimeValue(NanoSeconds(768)),
                MakeTimeAccessor(&SwitchMmu::SetAndPartition<&BufferSettings::responseTime, Time>,
                                 &SwitchMmu::Get<&BufferSettings::responseTime, Time>),
                MakeTimeChecker(Time(0)))
            .AddAttribute(
                "Alpha",
                "Share of the free shared buffer that an ingress of a port as fast as "
                "the hosts' may take before its partner is paused",
                DoubleValue(0.125),
                MakeDoubleAccessor(&SwitchMmu::SetAndPartition<&BufferSettings::alpha, double>,
                                   &SwitchMmu::Get<&BufferSettings::alpha, double>),
                MakeDoubleChecker<double>(0.0))
            .AddAttribute(
                "EcnKmin",
                "Bytes of an egress queue up to which no frame is marked, by rate; not "
                "set: 100 KB per 25 Gb/s",
                RateMapValue(RateMap()),
                MakeRateMapAccessor(&SwitchMmu::SetAndPartition<&BufferSettings::ecnKmin, RateMap>,
                                    &SwitchMmu::Get<&BufferSettings::ecnKmin, RateMap>),
                MakeRateMapChecker())
            .AddAttribute(
                "EcnKmax",
                "Bytes of an egress queue from which every frame is marked, by rate; not "
                "set: 400 KB per 25 Gb/s",
                RateMapValue(RateMap()),
                MakeRateMapAccessor(&SwitchMmu::SetAndPartition<&BufferSettings::ecnKmax, RateMap>,
                                    &SwitchMmu::Get<&BufferSettings::ecnKmax, RateMap>),
                MakeRateMapChecker())
            .AddAttribute(
                "EcnPmax",
                "Probability of a mark just below EcnKmax, by rate; not set: 0.2",
                RateMapValue(RateMap()),
                MakeRateMapAccessor(&SwitchMmu::SetAndPartition<&BufferSettings::ecnPmax, RateMap>,
                                    &SwitchMmu::Get<&BufferSettings::ecnPmax, RateMap>),
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
    m_limits.settings.dynamic = isDynamic || (m_limits.settings.dynamic && !isStatic);
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
    return TypeId::LookupByName(m_limits.settings.dynamic ? DYNAMIC : STATIC);
}

void
SwitchMmu::SetPorts(uint32_t ports)
{
    m_limits.SetPorts(ports);
    m_counts.SetPorts(ports);
}

void
SwitchMmu::ConfigurePort(uint32_t port,
                         uint64_t rateBps,
                         int64_t delayPs,
                         uint32_t mtuWireBytes,
                         double alphaScale)
{
    NS_LOG_FUNCTION(this << port << rateBps << delayPs << mtuWireBytes << alphaScale);
    m_limits.ConfigurePort(port, rateBps, delayPs, mtuWireBytes, alphaScale);
}

void
SwitchMmu::SetEcn(uint32_t port, const EcnThresholds& thresholds)
{
    Present();
    m_limits.SetEcn(port, thresholds);
}

uint64_t
SwitchMmu::Partition()
{
    m_limits.Divide(!m_policy);
    m_counts.SetReserve(m_limits.settings.reserve);
    m_partitioned = true;
    NS_LOG_INFO(this << " shares " << m_limits.GetSharedBytes() << " of "
                     << m_limits.GetBufferBytes() << " bytes among " << m_limits.GetPortCount()
                     << " ports");
    return m_limits.GetSharedBytes();
}

bool
SwitchMmu::Admit(uint32_t inPort, uint32_t outPort, uint8_t priority, uint32_t bytes)
{
    const uint64_t held = m_counts.GetTotalBytes() + m_counts.GetControlBytes();
    if (held + bytes > m_limits.GetBufferBytes() ||
        (priority > 0 &&
         (!QueueMayTake(outPort, priority, bytes) || !Take(inPort, priority, bytes))))
    {
        NS_LOG_INFO(this << " has no room for " << bytes << " bytes of port " << inPort
                         << " priority " << +priority << ": " << m_counts.GetSharedUsed() << " of "
                         << m_limits.GetSharedBytes() << " shared bytes are used");
        return false;
    }
    m_counts.Add(outPort, priority, bytes);
    NS_LOG_LOGIC(this << " admits " << bytes << " bytes from port " << inPort << " to port "
                      << outPort << " priority " << +priority << "; " << m_counts.GetSharedUsed()
                      << " shared bytes are used");
    return true;
}

bool
SwitchMmu::QueueMayTake(uint32_t outPort, uint8_t priority, uint32_t bytes) const
{
    const double alpha = m_limits.settings.lossyQueueAlpha;
    return alpha == 0 || m_limits.IsLossless(priority) ||
           m_counts.GetEgressBytes(outPort, priority) + bytes <=
               m_limits.PartOfFree(alpha, m_counts.GetSharedUsed());
}

bool
SwitchMmu::Take(uint32_t inPort, uint8_t priority, uint32_t bytes)
{
    BufferCounts::Ingress& in = m_counts.Of(inPort, priority);
    const uint64_t before = m_counts.SharedOf(in);
    const uint64_t after = m_counts.SharedOf(in.bytes + bytes);
    bool fits;
    if (m_limits.IsLossless(priority))
    {
        fits = after == 0 || (after <= ThresholdNow(inPort, priority) && Fits(after - before));
    }
    else
    {
        fits = Fits(bytes) && (after == before || after <= ThresholdNow(inPort, priority));
    }
    if (fits)
    {
        m_counts.AddShared(in, bytes);
        return true;
    }
    if (!m_limits.IsLossless(priority) || in.headroomBytes + bytes > m_limits.GetHeadroom(inPort))
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
    BufferCounts::Ingress& in = m_counts.Of(port, priority);
    NS_LOG_INFO(this << (paused ? " pauses" : " resumes") << " port " << port << " priority "
                     << +priority << ": " << m_counts.SharedOf(in) << " shared bytes, threshold "
                     << ThresholdNow(port, priority) << ", " << in.headroomBytes
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
        BufferCounts::Ingress in = m_counts.Of(at, of);
        const uint64_t total = in.bytes + in.headroomBytes;
        in.Remove(total - std::min(total, leftBytes[at][of]));
        return in;
    };
    uint64_t sharedUsed = 0;
    for (uint32_t at = 0; at < m_limits.GetPortCount(); ++at)
    {
        for (uint8_t of = 0; of < PRIORITIES; ++of)
        {
            sharedUsed += m_counts.SharedOf(after(at, of));
        }
    }
    return m_counts.Of(port, priority).paused &&
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

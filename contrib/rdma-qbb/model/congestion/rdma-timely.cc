/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/boolean.h"
#include "ns3/data-rate.h"
#include "ns3/double.h"
#include "ns3/input-error.h"
#include "ns3/log.h"
#include "ns3/nstime.h"
#include "ns3/qbb-frame.h"
#include "ns3/rdma-congestion-ops.h"
#include "ns3/rdma-queue-pair.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaTimely");

namespace
{

/// Line rate for which the paper gives its additive increase.
constexpr double TIMELY_BASE_BPS = 10e9;

/// A recovery from a cut that takes more than so many THigh is a misfit.
constexpr double LONGEST_RECOVERY = 10;

/**
 * @ingroup rdma-qbb
 * @brief TIMELY: rate from the gradient of the round trip time (Mittal et al., "TIMELY: RTT-based
 * Congestion Control for the Datacenter", SIGCOMM 2015).
 *
 * The variants below have the same attributes with their own defaults:
 *  - RdmaTimely: the paper's parameters;
 *  - RdmaTimelyHpccArtifact: the HPCC simulator's code (CC_MODE 7).
 *
 * One update per completed segment (SegmentBytes) with the round trip time of its last frame,
 * measured from when the sender's NIC began to send it. Left out: the paper subtracts the segment's
 * serialization from the time, which frames sent one by one do not need; its senders' start at a
 * share of the line rate (here: line rate). Ours: MaxDecrease bounds a cut, as the step from an
 * empty to a full queue is a gradient that would stop a flow for good.
 */
class RdmaTimelyBase : public RdmaCongestionOps
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("ns3::RdmaTimelyBase").SetParent<RdmaCongestionOps>().SetGroupName("RdmaQbb");
        return tid;
    }

    Telemetry GetTelemetry() const override
    {
        return Telemetry::Timestamp;
    }

    void OnQpInit(RdmaQueuePair& qp) override
    {
        if (m_tLow >= m_tHigh)
        {
            throw InputError("attributes of " + GetInstanceTypeId().GetName(),
                             0,
                             "TLow is not below THigh",
                             "0 <= TLow < THigh");
        }
        auto state = std::make_unique<State>();
        state->rateBps = static_cast<double>(qp.GetRate());
        const int64_t minRttPs = m_minRtt.IsZero() ? qp.baseRttPs : m_minRtt.GetPicoSeconds();
        state->minRttPs = static_cast<double>(std::max<int64_t>(1, minRttPs));
        state->increaseScale = IncreaseScale(static_cast<double>(qp.lineRateBps));
        NS_LOG_INFO(qp.Describe() << " begins at " << state->rateBps << " bps, least RTT "
                                  << state->minRttPs << " ps");
        state->nextUpdateSeq = qp.sndUna + m_segmentBytes;
        qp.congestion = std::move(state);
        qp.SetMinRate(std::max<uint64_t>(1, m_minRate.GetBitRate()));
    }

    std::string DescribeMisfit(const RdmaQueuePair& qp, uint64_t bdpBytes) const override
    {
        if (qp.baseRttPs > m_tHigh.GetPicoSeconds())
        {
            return fmt::format("{}::THigh of {:g} us is below the idle round trip of a path, "
                               "{:g} us: rates fall though nothing waits",
                               GetInstanceTypeId().GetName(),
                               m_tHigh.GetPicoSeconds() / 1e6,
                               qp.baseRttPs / 1e6);
        }
        const double seconds = RecoverySeconds(static_cast<double>(qp.lineRateBps));
        if (seconds <= LONGEST_RECOVERY * m_tHigh.GetSeconds())
        {
            return "";
        }
        return fmt::format(
            "{0} takes about {1:.3g} ms to raise a rate from MIN_RATE ({2:g} Mb/s) to half of a "
            "port's {3:g} Gb/s, one step of RATE_AI ({4:g} Mb/s) or RATE_HAI for each {5} bytes: "
            "flows that are cut once end late. The paper's constants are for long flows at 10 "
            "Gb/s; expected a higher MIN_RATE and RATE_AI, or a smaller {0}::SegmentBytes",
            GetInstanceTypeId().GetName(),
            seconds * 1e3,
            m_minRate.GetBitRate() / 1e6,
            qp.lineRateBps / 1e9,
            IncreaseScale(static_cast<double>(qp.lineRateBps)) * m_rateAi.GetBitRate() / 1e6,
            m_segmentBytes);
    }

    void OnAck(RdmaQueuePair& qp, const RdmaAckView& ack) override
    {
        State& state = static_cast<State&>(*qp.congestion);
        if (!ack.telemetry || ack.ackSeq < state.nextUpdateSeq || ack.newlyAcked == 0)
        {
            return;
        }
        state.nextUpdateSeq = m_segmentBytes ? ack.ackSeq + m_segmentBytes : qp.GetSndNxt() + 1;
        Update(qp, state, static_cast<double>(ack.nowPs - ack.telemetry->sentPs));
    }

  protected:
    /// Default values of a variant's attributes.
    struct Defaults
    {
        uint64_t segmentBytes;
        double maxDecrease;
        const char* rateAi;
        const char* rateHai;
        uint32_t haiThreshold;
        bool scaleIncrease;
        bool haiBelowTLow;
    };

    /// Give a variant's TypeId the attributes of all variants with its own defaults.
    static TypeId AddAttributes(TypeId tid, const Defaults& defaults)
    {
        return tid
            .AddAttribute("TLow",
                          "Round trip time below which the rate rises whatever the gradient.",
                          TimeValue(MicroSeconds(50)),
                          MakeTimeAccessor(&RdmaTimelyBase::m_tLow),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("THigh",
                          "Round trip time above which the rate falls whatever the gradient.",
                          TimeValue(MicroSeconds(500)),
                          MakeTimeAccessor(&RdmaTimelyBase::m_tHigh),
                          MakeTimeChecker(NanoSeconds(1)))
            .AddAttribute("MinRtt",
                          "Round trip time that normalises the gradient; 0: the pair's base RTT.",
                          TimeValue(MicroSeconds(20)),
                          MakeTimeAccessor(&RdmaTimelyBase::m_minRtt),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("Beta",
                          "Multiplicative decrease factor.",
                          DoubleValue(0.8),
                          MakeDoubleAccessor(&RdmaTimelyBase::m_beta),
                          MakeDoubleChecker<double>(0.0, 1.0))
            .AddAttribute("MaxDecrease",
                          "Largest part of the rate that one update takes; 1: no bound.",
                          DoubleValue(defaults.maxDecrease),
                          MakeDoubleAccessor(&RdmaTimelyBase::m_maxDecrease),
                          MakeDoubleChecker<double>(0.0, 1.0))
            .AddAttribute("EwmaWeight",
                          "Weight of the newest difference of round trip times.",
                          DoubleValue(0.875),
                          MakeDoubleAccessor(&RdmaTimelyBase::m_ewmaWeight),
                          MakeDoubleChecker<double>(1e-9, 1.0))
            .AddAttribute("RateAi",
                          "Additive increase step delta.",
                          DataRateValue(DataRate(defaults.rateAi)),
                          MakeDataRateAccessor(&RdmaTimelyBase::m_rateAi),
                          MakeDataRateChecker())
            .AddAttribute("RateHai",
                          "Step in hyper increase; 0: HaiFactor times RateAi.",
                          DataRateValue(DataRate(defaults.rateHai)),
                          MakeDataRateAccessor(&RdmaTimelyBase::m_rateHai),
                          MakeDataRateChecker())
            .AddAttribute("MinRate",
                          "Least rate of a queue pair.",
                          DataRateValue(DataRate("100Mbps")),
                          MakeDataRateAccessor(&RdmaTimelyBase::m_minRate),
                          MakeDataRateChecker())
            .AddAttribute(
                "HaiThreshold",
                "Successive updates with a gradient of at most 0 that begin hyper increase.",
                UintegerValue(defaults.haiThreshold),
                MakeUintegerAccessor(&RdmaTimelyBase::m_haiThreshold),
                MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("HaiFactor",
                          "Factor N on RateAi in hyper increase.",
                          UintegerValue(5),
                          MakeUintegerAccessor(&RdmaTimelyBase::m_haiFactor),
                          MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("SegmentBytes",
                          "Acknowledged bytes per update; 0: one update per round trip.",
                          UintegerValue(defaults.segmentBytes),
                          MakeUintegerAccessor(&RdmaTimelyBase::m_segmentBytes),
                          MakeUintegerChecker<uint64_t>())
            .AddAttribute(
                "ScaleIncrease",
                "RateAi and RateHai are for a 10 Gb/s port and grow with the port's rate.",
                BooleanValue(defaults.scaleIncrease),
                MakeBooleanAccessor(&RdmaTimelyBase::m_scaleIncrease),
                MakeBooleanChecker())
            .AddAttribute("HaiBelowTLow",
                          "Hyper increase also below TLow.",
                          BooleanValue(defaults.haiBelowTLow),
                          MakeBooleanAccessor(&RdmaTimelyBase::m_haiBelowTLow),
                          MakeBooleanChecker());
    }

  private:
    struct State : public RdmaCongestionState
    {
        double rateBps{0};
        double previousRttPs{0}; ///< 0 before the first update
        double rttDiffPs{0};     ///< smoothed difference of successive round trip times
        double minRttPs{0};
        double increaseScale{1};   ///< factor on RateAi and RateHai
        uint32_t risesInRow{0};    ///< successive updates that raised the rate
        uint64_t nextUpdateSeq{0}; ///< an acknowledgement up to here completes the segment
    };

    void Update(RdmaQueuePair& qp, State& state, double rttPs) const
    {
        const double previousPs = std::exchange(state.previousRttPs, rttPs);
        if (previousPs == 0)
        {
            return;
        }
        state.rttDiffPs =
            (1 - m_ewmaWeight) * state.rttDiffPs + m_ewmaWeight * (rttPs - previousPs);
        const double gradient = state.rttDiffPs / state.minRttPs;
        if (rttPs < static_cast<double>(m_tLow.GetPicoSeconds()))
        {
            state.risesInRow = m_haiBelowTLow ? state.risesInRow + 1 : 0;
            state.rateBps += IncreaseStep(state);
        }
        else if (const double tHighPs = static_cast<double>(m_tHigh.GetPicoSeconds());
                 rttPs > tHighPs)
        {
            state.risesInRow = 0;
            state.rateBps *= std::max(1 - m_maxDecrease, 1 - m_beta * (1 - tHighPs / rttPs));
        }
        else if (gradient <= 0)
        {
            ++state.risesInRow;
            state.rateBps += IncreaseStep(state);
        }
        else
        {
            state.risesInRow = 0;
            state.rateBps *= std::max(1 - m_maxDecrease, 1 - m_beta * gradient);
        }
        state.rateBps = std::clamp(state.rateBps,
                                   std::max(1.0, static_cast<double>(m_minRate.GetBitRate())),
                                   static_cast<double>(qp.lineRateBps));
        qp.SetRate(static_cast<uint64_t>(std::llround(state.rateBps)));
        NS_LOG_INFO(qp.Describe() << " sees " << rttPs << " ps, gradient " << gradient
                                  << ", and takes " << state.rateBps << " bps");
    }

    double IncreaseStep(const State& state) const
    {
        const double step = state.increaseScale * static_cast<double>(m_rateAi.GetBitRate());
        if (state.risesInRow < m_haiThreshold)
        {
            return step;
        }
        return m_rateHai.GetBitRate()
                   ? state.increaseScale * static_cast<double>(m_rateHai.GetBitRate())
                   : m_haiFactor * step;
    }

    /// @return the factor on RateAi and RateHai at a port
    double IncreaseScale(double lineRateBps) const
    {
        return m_scaleIncrease ? lineRateBps / TIMELY_BASE_BPS : 1;
    }

    /// @return how long a rate takes from MinRate to half of the port's, if nothing delays its
    /// frames; 0 with one update per round trip, which is short
    double RecoverySeconds(double lineRateBps) const
    {
        const double least = std::max(1.0, static_cast<double>(m_minRate.GetBitRate()));
        State hyper;
        hyper.increaseScale = IncreaseScale(lineRateBps);
        hyper.risesInRow = m_haiThreshold;
        const double step = IncreaseStep(hyper);
        const double bits = 8.0 * static_cast<double>(m_segmentBytes);
        if (bits == 0 || least >= lineRateBps / 2)
        {
            return 0;
        }
        // An update at rate R takes bits / R; the sum over many steps is an integral.
        return bits / least + bits / step * std::log(lineRateBps / 2 / least);
    }

    Time m_tLow;
    Time m_tHigh;
    Time m_minRtt;
    double m_beta;
    double m_maxDecrease;
    double m_ewmaWeight;
    DataRate m_rateAi;
    DataRate m_rateHai;
    DataRate m_minRate;
    uint32_t m_haiThreshold;
    uint32_t m_haiFactor;
    uint64_t m_segmentBytes;
    bool m_scaleIncrease;
    bool m_haiBelowTLow;
};

/// TIMELY with the parameters of the SIGCOMM 2015 paper.
class RdmaTimely : public RdmaTimelyBase
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = AddAttributes(TypeId("ns3::RdmaTimely")
                                              .SetParent<RdmaTimelyBase>()
                                              .SetGroupName("RdmaQbb")
                                              .AddConstructor<RdmaTimely>(),
                                          {.segmentBytes = 64000,
                                           .maxDecrease = 0.5,
                                           .rateAi = "10Mbps",
                                           .rateHai = "0bps",
                                           .haiThreshold = 5,
                                           .scaleIncrease = true,
                                           .haiBelowTLow = false});
        return tid;
    }

    std::string GetName() const override
    {
        return "TIMELY";
    }
};

/// TIMELY as the HPCC simulator has it: one update per round trip, cuts without a bound, and a step
/// of its own for hyper increase. That begins with the sixth rise in a row, below TLow as well.
///
/// CC_MODE 7.
class RdmaTimelyHpccArtifact : public RdmaTimelyBase
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = AddAttributes(TypeId("ns3::RdmaTimelyHpccArtifact")
                                              .SetParent<RdmaTimelyBase>()
                                              .SetGroupName("RdmaQbb")
                                              .AddConstructor<RdmaTimelyHpccArtifact>(),
                                          {.segmentBytes = 0,
                                           .maxDecrease = 1,
                                           .rateAi = "50Mbps",
                                           .rateHai = "100Mbps",
                                           // counts the rises before the present one
                                           .haiThreshold = 6,
                                           .scaleIncrease = false,
                                           .haiBelowTLow = true});
        return tid;
    }

    std::string GetName() const override
    {
        return "TIMELY-hpcc-artifact";
    }
};

} // namespace

NS_OBJECT_ENSURE_REGISTERED(RdmaTimelyBase);
NS_OBJECT_ENSURE_REGISTERED(RdmaTimely);
NS_OBJECT_ENSURE_REGISTERED(RdmaTimelyHpccArtifact);

} // namespace ns3

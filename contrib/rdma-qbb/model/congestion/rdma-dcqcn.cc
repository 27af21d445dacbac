/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-dcqcn.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/log.h"
#include "ns3/rdma-deadline-timer.h"
#include "ns3/rdma-queue-pair.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaDcqcn");

NS_OBJECT_ENSURE_REGISTERED(RdmaDcqcnBase);
NS_OBJECT_ENSURE_REGISTERED(RdmaDcqcn);
NS_OBJECT_ENSURE_REGISTERED(RdmaDcqcnPaper);
NS_OBJECT_ENSURE_REGISTERED(RdmaDcqcnHpccArtifact);

// A pair has timers only from its first CNP on. OnCnp() lowers the rate by alpha / 2, either at
// once (Decrease) or, if Sampled, at the next tick of a fixed period (OnDecreaseTick), and, if the
// rate has risen since the last decrease, keeps the old rate as targetBps. Each expiry of the
// increase timer or the byte counter halves the distance to the target (Increase); after
// FastRecoveryTimes of them it raises the target first. No event updates alpha: AdvanceAlpha()
// makes up the ticks that have passed before alpha is used. The increase timer stops at line rate.
// It is parked when all data are acknowledged; MakeUpTicks() then carries out the missed increases
// when the pair sends again or gets an ACK or a CNP.

namespace
{

/// Line rate for which RateAi and RateHai are meant when they scale with the port.
constexpr double DCQCN_BASE_BPS = 25e9;

int64_t
NowPs()
{
    return Simulator::Now().GetPicoSeconds();
}

} // namespace

struct RdmaDcqcnBase::State : public RdmaCongestionState
{
    /// Most queue pairs never see a CNP, and so have none of these.
    struct Timers
    {
        Timers(RdmaDcqcnBase* ops, RdmaQueuePair* qp)
            : decrease([ops, qp] { ops->OnDecreaseTick(*qp); }),
              increase([ops, qp] { ops->OnIncreaseTimer(*qp, StateOf(*qp).nextIncreasePs); })
        {
        }

        RdmaDeadlineTimer decrease;
        RdmaDeadlineTimer increase;
    };

    bool congested{false}; ///< a CNP has come at some time
    bool cnpSinceAlphaTick{false};
    double alpha{1.0};
    int64_t alphaTickPs{0};    ///< next update of alpha
    int64_t decreaseBasePs{0}; ///< origin of the decrease monitor's ticks
    int64_t lastDecreasePs{INT64_MIN / 2};
    uint64_t targetBps{0};
    uint32_t timeStage{0}; ///< timer expiries since the last decrease
    uint32_t byteStage{0}; ///< byte counter expiries since the last decrease
    uint64_t byteMark{0};  ///< RdmaQueuePair::highestSent where the byte counter last started
    int64_t nextIncreasePs{0};
    bool parked{false};             ///< the increase timer waits for the pair to send again
    std::unique_ptr<Timers> timers; ///< made at the first CNP
};

TypeId
RdmaDcqcnBase::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RdmaDcqcnBase").SetParent<RdmaCongestionOps>().SetGroupName("RdmaQbb");
    return tid;
}

TypeId
RdmaDcqcnBase::AddAttributes(TypeId tid, const Defaults& d)
{
    return tid
        .AddAttribute("AlphaResumeInterval",
                      "Time between updates of alpha.",
                      TimeValue(d.alphaInterval),
                      MakeTimeAccessor(&RdmaDcqcnBase::m_alphaInterval),
                      MakeTimeChecker(NanoSeconds(1)))
        .AddAttribute("RateDecreaseInterval",
                      "Least time between two rate decreases; the monitor's period if Sampled.",
                      TimeValue(d.decreaseInterval),
                      MakeTimeAccessor(&RdmaDcqcnBase::m_decreaseInterval),
                      MakeTimeChecker(Time(0)))
        .AddAttribute("RpTimer",
                      "Time between rate increases.",
                      TimeValue(d.increaseInterval),
                      MakeTimeAccessor(&RdmaDcqcnBase::m_increaseInterval),
                      MakeTimeChecker(NanoSeconds(1)))
        .AddAttribute("ByteCounter",
                      "Bytes sent between rate increases; 0 for no byte counter.",
                      UintegerValue(d.byteCounter),
                      MakeUintegerAccessor(&RdmaDcqcnBase::m_byteCounter),
                      MakeUintegerChecker<uint64_t>())
        .AddAttribute("FastRecoveryTimes",
                      "Increases in fast recovery before additive increase begins.",
                      UintegerValue(d.fastRecoveryTimes),
                      MakeUintegerAccessor(&RdmaDcqcnBase::m_fastRecoveryTimes),
                      MakeUintegerChecker<uint32_t>())
        .AddAttribute("EwmaGain",
                      "Weight g of the newest sample in alpha, above 0 and at most 1.",
                      DoubleValue(d.gain),
                      MakeDoubleAccessor(&RdmaDcqcnBase::m_gain),
                      MakeDoubleChecker<double>(1e-9, 1.0))
        .AddAttribute("RateOnFirstCnp",
                      "Fraction of its rate to which a queue pair falls at its first CNP.",
                      DoubleValue(1.0),
                      MakeDoubleAccessor(&RdmaDcqcnBase::m_rateOnFirstCnp),
                      MakeDoubleChecker<double>(1e-9, 1.0))
        .AddAttribute("RateAi",
                      "Step of the target rate in additive increase.",
                      DataRateValue(DataRate(d.rateAi)),
                      MakeDataRateAccessor(&RdmaDcqcnBase::m_rateAi),
                      MakeDataRateChecker())
        .AddAttribute("RateHai",
                      "Step of the target rate in hyper increase.",
                      DataRateValue(DataRate(d.rateHai)),
                      MakeDataRateAccessor(&RdmaDcqcnBase::m_rateHai),
                      MakeDataRateChecker())
        .AddAttribute("MinRate",
                      "Least rate of a queue pair.",
                      DataRateValue(DataRate(d.minRate)),
                      MakeDataRateAccessor(&RdmaDcqcnBase::m_minRate),
                      MakeDataRateChecker())
        .AddAttribute("ScaleIncrease",
                      "RateAi and RateHai are for a 25 Gb/s port and grow with the port's rate.",
                      BooleanValue(d.scaleIncrease),
                      MakeBooleanAccessor(&RdmaDcqcnBase::m_scaleIncrease),
                      MakeBooleanChecker())
        .AddAttribute("Sampled",
                      "Alpha and rate react to CNPs at periodic ticks, not as they come.",
                      BooleanValue(d.sampled),
                      MakeBooleanAccessor(&RdmaDcqcnBase::m_sampled),
                      MakeBooleanChecker())
        .AddAttribute(
            "ClampTargetRate",
            "Each decrease sets the target rate to the current rate, also when no increase "
            "came since the last decrease.",
            BooleanValue(d.clampTargetRate),
            MakeBooleanAccessor(&RdmaDcqcnBase::m_clampTargetRate),
            MakeBooleanChecker())
        .AddAttribute("HyperMultiplied",
                      "The i-th hyper increase raises the target rate by i times RateHai.",
                      BooleanValue(d.hyperMultiplied),
                      MakeBooleanAccessor(&RdmaDcqcnBase::m_hyperMultiplied),
                      MakeBooleanChecker())
        .AddAttribute(
            "CnpInterval",
            "Least time between two CNPs that a receiver sends for a queue pair; 0: marks "
            "ride on acknowledgements.",
            TimeValue(d.cnpInterval),
            MakeTimeAccessor(&RdmaDcqcnBase::m_cnpInterval),
            MakeTimeChecker(Time(0)));
}

bool
RdmaDcqcnBase::UsesEcn() const
{
    return true;
}

int64_t
RdmaDcqcnBase::GetCnpIntervalPs() const
{
    return m_cnpInterval.GetPicoSeconds();
}

RdmaDcqcnBase::State&
RdmaDcqcnBase::StateOf(RdmaQueuePair& qp)
{
    return static_cast<State&>(*qp.congestion);
}

void
RdmaDcqcnBase::OnQpInit(RdmaQueuePair& qp)
{
    if (m_free.empty())
    {
        qp.congestion = std::make_unique<State>();
    }
    else
    {
        qp.congestion = std::move(m_free.back());
        m_free.pop_back();
    }
    StateOf(qp).targetBps = qp.GetRate();
    qp.acksWanted = m_byteCounter != 0;
    qp.SetMinRate(std::max<uint64_t>(1, m_minRate.GetBitRate()));
}

void
RdmaDcqcnBase::OnQpClose(RdmaQueuePair& qp)
{
    StateOf(qp) = State();
    m_free.push_back(std::move(qp.congestion));
}

double
RdmaDcqcnBase::GetAlpha(RdmaQueuePair& qp) const
{
    State& state = StateOf(qp);
    AdvanceAlpha(state, NowPs());
    return state.alpha;
}

uint64_t
RdmaDcqcnBase::GetTargetRate(const RdmaQueuePair& qp) const
{
    return static_cast<const State&>(*qp.congestion).targetBps;
}

void
RdmaDcqcnBase::AdvanceAlpha(State& state, int64_t nowPs) const
{
    if (!state.congested || nowPs < state.alphaTickPs)
    {
        return;
    }
    if (state.cnpSinceAlphaTick)
    {
        state.cnpSinceAlphaTick = false;
        state.alpha = (1 - m_gain) * state.alpha + m_gain;
        state.alphaTickPs += m_alphaInterval.GetPicoSeconds();
        if (nowPs < state.alphaTickPs)
        {
            return;
        }
    }
    const int64_t intervalPs = m_alphaInterval.GetPicoSeconds();
    const int64_t ticks = (nowPs - state.alphaTickPs) / intervalPs + 1;
    state.alpha *= std::pow(1 - m_gain, static_cast<double>(ticks));
    state.alphaTickPs += ticks * intervalPs;
}

void
RdmaDcqcnBase::OnCnp(RdmaQueuePair& qp, int64_t nowPs)
{
    State& state = StateOf(qp);
    MakeUpTicks(qp, state, nowPs);
    AdvanceAlpha(state, nowPs);
    const bool first = !state.congested;
    NS_LOG_LOGIC(qp.Describe() << (first ? " gets its first CNP" : " gets a CNP"));
    if (first)
    {
        state.congested = true;
        state.alphaTickPs = nowPs + m_alphaInterval.GetPicoSeconds();
        state.decreaseBasePs = nowPs;
        state.timers = std::make_unique<State::Timers>(this, &qp);
        qp.SetRate(static_cast<uint64_t>(static_cast<double>(qp.GetRate()) * m_rateOnFirstCnp));
        state.targetBps = qp.GetRate();
    }
    if (!m_sampled)
    {
        if (nowPs - state.lastDecreasePs >= m_decreaseInterval.GetPicoSeconds())
        {
            Decrease(qp, state, nowPs);
        }
        state.alpha = (1 - m_gain) * state.alpha + m_gain;
        state.alphaTickPs = nowPs + m_alphaInterval.GetPicoSeconds();
        return;
    }
    // The first CNP starts alpha at 1 and is no sample of it.
    state.cnpSinceAlphaTick = !first;
    if (!state.timers->decrease.IsRunning())
    {
        const int64_t periodPs = std::max<int64_t>(1, m_decreaseInterval.GetPicoSeconds());
        const int64_t ticks = (nowPs - state.decreaseBasePs) / periodPs + 1;
        state.timers->decrease.SetDeadline(state.decreaseBasePs + ticks * periodPs);
    }
}

void
RdmaDcqcnBase::OnDecreaseTick(RdmaQueuePair& qp)
{
    State& state = StateOf(qp);
    const int64_t nowPs = NowPs();
    MakeUpTicks(qp, state, nowPs);
    AdvanceAlpha(state, nowPs);
    Decrease(qp, state, nowPs);
}

void
RdmaDcqcnBase::Decrease(RdmaQueuePair& qp, State& state, int64_t nowPs)
{
    if (m_clampTargetRate || state.timeStage != 0 || state.byteStage != 0)
    {
        state.targetBps = qp.GetRate();
    }
    qp.SetRate(static_cast<uint64_t>(static_cast<double>(qp.GetRate()) * (1 - state.alpha / 2)));
    NS_LOG_INFO(qp.Describe() << " falls to " << qp.GetRate() << " bps, alpha " << state.alpha
                              << ", target " << state.targetBps << " bps");
    state.lastDecreasePs = nowPs;
    state.timeStage = 0;
    state.byteStage = 0;
    state.byteMark = qp.GetHighestSent();
    state.nextIncreasePs = nowPs + m_increaseInterval.GetPicoSeconds();
    state.timers->increase.SetDeadline(state.nextIncreasePs);
}

void
RdmaDcqcnBase::Increase(RdmaQueuePair& qp, State& state) const
{
    const uint32_t most = std::max(state.timeStage, state.byteStage);
    const uint32_t least =
        m_byteCounter ? std::min(state.timeStage, state.byteStage) : state.timeStage;
    if (most >= m_fastRecoveryTimes)
    {
        double step = static_cast<double>(m_rateAi.GetBitRate());
        if (least > m_fastRecoveryTimes)
        {
            step = static_cast<double>(m_rateHai.GetBitRate());
            step *= m_hyperMultiplied ? least - m_fastRecoveryTimes : 1;
        }
        if (m_scaleIncrease)
        {
            step *= static_cast<double>(qp.lineRateBps) / DCQCN_BASE_BPS;
        }
        state.targetBps =
            std::min(qp.lineRateBps, state.targetBps + static_cast<uint64_t>(std::llround(step)));
    }
    // Rounded up, so that halving the distance ends at the target.
    qp.SetRate(qp.GetRate() + (state.targetBps - std::min(qp.GetRate(), state.targetBps) + 1) / 2);
    NS_LOG_LOGIC(qp.Describe() << " rises to " << qp.GetRate() << " bps, target " << state.targetBps
                               << " bps, stages " << state.timeStage << " and " << state.byteStage);
}

void
RdmaDcqcnBase::OnIncreaseTimer(RdmaQueuePair& qp, int64_t deadlinePs)
{
    State& state = StateOf(qp);
    if (qp.sndUna >= qp.endSeq)
    {
        state.parked = true;
        qp.acksWanted = true;
        return;
    }
    Increase(qp, state);
    ++state.timeStage;
    if (qp.GetRate() >= qp.lineRateBps)
    {
        return;
    }
    state.nextIncreasePs = deadlinePs + m_increaseInterval.GetPicoSeconds();
    state.timers->increase.SetDeadline(state.nextIncreasePs);
}

void
RdmaDcqcnBase::MakeUpTicks(RdmaQueuePair& qp, State& state, int64_t nowPs)
{
    if (!state.parked)
    {
        return;
    }
    state.parked = false;
    qp.acksWanted = m_byteCounter != 0;
    while (state.nextIncreasePs <= nowPs)
    {
        Increase(qp, state);
        ++state.timeStage;
        if (qp.GetRate() >= qp.lineRateBps)
        {
            return;
        }
        state.nextIncreasePs += m_increaseInterval.GetPicoSeconds();
    }
    state.timers->increase.SetDeadline(state.nextIncreasePs);
}

void
RdmaDcqcnBase::OnRestart(RdmaQueuePair& qp, int64_t nowPs)
{
    State& state = StateOf(qp);
    if (state.parked)
    {
        MakeUpTicks(qp, state, nowPs);
    }
}

void
RdmaDcqcnBase::OnAck(RdmaQueuePair& qp, const RdmaAckView& ack)
{
    State& state = StateOf(qp);
    if (state.parked)
    {
        MakeUpTicks(qp, state, ack.nowPs);
    }
    if (!m_byteCounter)
    {
        return;
    }
    while (qp.GetRate() < qp.lineRateBps && qp.GetHighestSent() - state.byteMark >= m_byteCounter)
    {
        state.byteMark += m_byteCounter;
        Increase(qp, state);
        ++state.byteStage;
    }
}

TypeId
RdmaDcqcn::GetTypeId()
{
    static TypeId tid = AddAttributes(TypeId("ns3::RdmaDcqcn")
                                          .SetParent<RdmaDcqcnBase>()
                                          .SetGroupName("RdmaQbb")
                                          .AddConstructor<RdmaDcqcn>(),
                                      {.alphaInterval = MicroSeconds(1),
                                       .decreaseInterval = MicroSeconds(4),
                                       .increaseInterval = MicroSeconds(300),
                                       .byteCounter = 0,
                                       .fastRecoveryTimes = 1,
                                       .gain = 5.0 / 1024,
                                       .rateAi = "5Mbps",
                                       .rateHai = "50Mbps",
                                       .minRate = "100Mbps",
                                       .scaleIncrease = true,
                                       .sampled = true,
                                       .clampTargetRate = false,
                                       .hyperMultiplied = false,
                                       .cnpInterval = MicroSeconds(4)});
    return tid;
}

std::string
RdmaDcqcn::GetName() const
{
    return "DCQCN";
}

TypeId
RdmaDcqcnPaper::GetTypeId()
{
    static TypeId tid = AddAttributes(TypeId("ns3::RdmaDcqcnPaper")
                                          .SetParent<RdmaDcqcnBase>()
                                          .SetGroupName("RdmaQbb")
                                          .AddConstructor<RdmaDcqcnPaper>(),
                                      {.alphaInterval = MicroSeconds(55),
                                       .decreaseInterval = Time(0),
                                       .increaseInterval = MicroSeconds(55),
                                       .byteCounter = 10000000,
                                       .fastRecoveryTimes = 5,
                                       .gain = 1.0 / 256,
                                       .rateAi = "40Mbps",
                                       .rateHai = "400Mbps",
                                       .minRate = "40Mbps",
                                       .scaleIncrease = false,
                                       .sampled = false,
                                       .clampTargetRate = true,
                                       .hyperMultiplied = true,
                                       .cnpInterval = MicroSeconds(50)});
    return tid;
}

std::string
RdmaDcqcnPaper::GetName() const
{
    return "DCQCN-paper";
}

TypeId
RdmaDcqcnHpccArtifact::GetTypeId()
{
    static TypeId tid = AddAttributes(TypeId("ns3::RdmaDcqcnHpccArtifact")
                                          .SetParent<RdmaDcqcnBase>()
                                          .SetGroupName("RdmaQbb")
                                          .AddConstructor<RdmaDcqcnHpccArtifact>(),
                                      {.alphaInterval = MicroSeconds(1),
                                       .decreaseInterval = MicroSeconds(4),
                                       .increaseInterval = MicroSeconds(900),
                                       .byteCounter = 0,
                                       .fastRecoveryTimes = 1,
                                       .gain = 1.0 / 256,
                                       .rateAi = "50Mbps",
                                       .rateHai = "100Mbps",
                                       .minRate = "100Mbps",
                                       .scaleIncrease = false,
                                       .sampled = true,
                                       .clampTargetRate = false,
                                       .hyperMultiplied = false,
                                       .cnpInterval = Time(0)});
    return tid;
}

std::string
RdmaDcqcnHpccArtifact::GetName() const
{
    return "DCQCN-hpcc-artifact";
}

} // namespace ns3

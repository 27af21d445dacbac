/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_DCQCN_H
#define RDMA_DCQCN_H

#include "ns3/data-rate.h"
#include "ns3/nstime.h"
#include "ns3/rdma-congestion-ops.h"

#include <memory>
#include <vector>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief DCQCN: rate-based congestion control from ECN marks (Zhu et al., "Congestion Control for
 * Large-Scale RDMA Deployments", SIGCOMM 2015).
 *
 * The reaction point of the paper, with the choices that hardware makes as attributes. Each variant
 * below has the same attributes with its own defaults:
 *  - RdmaDcqcn: a ConnectX NIC's documented firmware defaults (the default variant, CC_MODE 1);
 *  - RdmaDcqcnPaper: the paper's parameters;
 *  - RdmaDcqcnHpccArtifact: the values in the HPCC simulator's and SimAI's configuration files.
 *
 * Modelled: alpha with its timer, rate decrease at once or at a monitor's ticks, rate increase by
 * timer and by byte counter in fast recovery, additive and hyper stages, the receiver's CNP pacing
 * (CnpInterval, which the host applies). Left out: the switch's marking (SwitchMmu), firmware's
 * fixed point arithmetic. ConnectX's byte counter is off by default because the unit of its
 * documented threshold is not public.
 *
 * Cost: alpha is worked out when it is needed, the decrease monitor has an event only after a CNP,
 * and the increase timer stops at line rate and while the queue pair has nothing to send; the ticks
 * it would have had are made up for when sending restarts. Byte counter expiries are noticed at
 * acknowledgements and count each byte sent once.
 */
class RdmaDcqcnBase : public RdmaCongestionOps
{
  public:
    static TypeId GetTypeId();

    bool UsesEcn() const override;
    int64_t GetCnpIntervalPs() const override;
    void OnQpInit(RdmaQueuePair& qp) override;
    void OnAck(RdmaQueuePair& qp, const RdmaAckView& ack) override;
    void OnCnp(RdmaQueuePair& qp, int64_t nowPs) override;
    void OnRestart(RdmaQueuePair& qp, int64_t nowPs) override;
    void OnQpClose(RdmaQueuePair& qp) override;

    /// @return the pair's alpha at the current time
    double GetAlpha(RdmaQueuePair& qp) const;
    /// @return the pair's target rate in bit/s
    uint64_t GetTargetRate(const RdmaQueuePair& qp) const;

  protected:
    /// Default values of a variant's attributes.
    struct Defaults
    {
        Time alphaInterval;
        Time decreaseInterval;
        Time increaseInterval;
        uint64_t byteCounter;
        uint32_t fastRecoveryTimes;
        double gain;
        const char* rateAi;
        const char* rateHai;
        const char* minRate;
        bool scaleIncrease;
        bool sampled;
        bool clampTargetRate;
        bool hyperMultiplied;
        Time cnpInterval;
    };

    /// Give a variant's TypeId the attributes of all variants with its own defaults.
    static TypeId AddAttributes(TypeId tid, const Defaults& defaults);

  private:
    struct State;

    static State& StateOf(RdmaQueuePair& qp);
    void AdvanceAlpha(State& state, int64_t nowPs) const;
    void Decrease(RdmaQueuePair& qp, State& state, int64_t nowPs);
    void Increase(RdmaQueuePair& qp, State& state) const;
    void OnDecreaseTick(RdmaQueuePair& qp);
    void OnIncreaseTimer(RdmaQueuePair& qp, int64_t deadlinePs);
    void MakeUpTicks(RdmaQueuePair& qp, State& state, int64_t nowPs);

    /// Of queue pairs that have ended, for the next ones.
    std::vector<std::unique_ptr<RdmaCongestionState>> m_free;

    Time m_alphaInterval;
    Time m_decreaseInterval;
    Time m_increaseInterval;
    uint64_t m_byteCounter;
    uint32_t m_fastRecoveryTimes;
    double m_gain;
    double m_rateOnFirstCnp;
    DataRate m_rateAi;
    DataRate m_rateHai;
    DataRate m_minRate;
    bool m_scaleIncrease;
    bool m_sampled;
    bool m_clampTargetRate;
    bool m_hyperMultiplied;
    Time m_cnpInterval;
};

/// DCQCN with a ConnectX NIC's documented firmware defaults.
class RdmaDcqcn : public RdmaDcqcnBase
{
  public:
    static TypeId GetTypeId();
    std::string GetName() const override;
};

/// DCQCN with the parameters of the SIGCOMM 2015 paper.
class RdmaDcqcnPaper : public RdmaDcqcnBase
{
  public:
    static TypeId GetTypeId();
    std::string GetName() const override;
};

/// DCQCN as the HPCC simulator and SimAI ship it.
class RdmaDcqcnHpccArtifact : public RdmaDcqcnBase
{
  public:
    static TypeId GetTypeId();
    std::string GetName() const override;
};

} // namespace ns3

#endif /* RDMA_DCQCN_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_HPCC_BASE_H
#define RDMA_HPCC_BASE_H

#include "rdma-hpcc-law.h"

#include "ns3/data-rate.h"
#include "ns3/nstime.h"
#include "ns3/rdma-congestion-ops.h"
#include "ns3/rdma-queue-pair.h"

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Base of HPCC and HPCC-PINT: the control law's parameters, rounds and how a result
 * becomes a window and a rate.
 *
 * Window based (default, as in the paper): the window is W and the pacing rate W/T, where W starts
 * at line rate x T. Rate based (as in the HPCC simulator): the rate is R, and the window is left to
 * the host's configuration. W counts bytes on the wire; as payload bytes in flight it is a few per
 * cent generous and pacing bounds the sender.
 */
class RdmaHpccBase : public RdmaCongestionOps
{
  public:
    static TypeId GetTypeId();

    std::string DescribeMisfit(const RdmaQueuePair& qp, uint64_t bdpBytes) const override;

  protected:
    struct RoundState : public RdmaCongestionState
    {
        RdmaHpccLaw law;
        RdmaHpccLaw::State whole; ///< of the queue pair, unless there is one per hop
        double baseRttPs;         ///< T
        double windowPs;          ///< a window is sent at the rate in this time
        uint64_t roundEndSeq{0};  ///< an acknowledgement beyond it ends the round
    };

    /// Fill in the parts of a new pair's state, and set its window and rate.
    void InitRound(RdmaQueuePair& qp, RoundState& state) const;

    /// @return whether this acknowledgement ends a round; begins the next if so
    static bool EndRound(RdmaQueuePair& qp, RoundState& state, const RdmaAckView& ack);

    /// Make the law's result the pair's rate and window.
    void Apply(RdmaQueuePair& qp, const RoundState& state, double rateBps) const;

    bool m_fastReact;

  private:
    double m_targetUtilization;
    uint32_t m_maxStage;
    uint32_t m_windowAi;
    DataRate m_rateAi;
    DataRate m_minRate;
    bool m_rateBased;
    Time m_baseRtt;
};

} // namespace ns3

#endif /* RDMA_HPCC_BASE_H */

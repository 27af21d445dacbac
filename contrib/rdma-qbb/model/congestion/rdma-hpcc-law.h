/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_HPCC_LAW_H
#define RDMA_HPCC_LAW_H

#include <algorithm>
#include <cstdint>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief HPCC's control law (Li et al., SIGCOMM 2019, algorithm 1, ComputeWind), in bit/s.
 *
 * The law is linear in the window, so a window W and the rate R = W/T obey the same equations; one
 * implementation in rates serves HPCC's windows, the HPCC simulator's rates and HPCC-PINT.
 */
struct RdmaHpccLaw
{
    double targetUtilization; ///< eta
    uint32_t maxStage;        ///< additive steps before a multiplicative one
    double additiveBps;       ///< W_AI / T
    double minBps;
    double maxBps;

    /// The law's state per queue pair (or per hop with MultiRate).
    struct State
    {
        double referenceBps; ///< Wc / T: the rate one round trip ago
        uint32_t stage{0};   ///< additive steps since the last multiplicative one
    };

    /**
     * @param state changed only at a round's end
     * @param utilization U
     * @param roundEnds whether the acknowledged frame was sent after the last reference update
     * @return the new rate in bit/s
     */
    double Compute(State& state, double utilization, bool roundEnds) const
    {
        const double excess = utilization / targetUtilization;
        const bool multiplicative = excess >= 1 || state.stage >= maxStage;
        double rate = multiplicative ? state.referenceBps / excess : state.referenceBps;
        rate = std::clamp(rate + additiveBps, minBps, maxBps);
        if (roundEnds)
        {
            state.stage = multiplicative ? 0 : state.stage + 1;
            state.referenceBps = rate;
        }
        return rate;
    }
};

} // namespace ns3

#endif /* RDMA_HPCC_LAW_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef UEC_CREDIT_RATE_H
#define UEC_CREDIT_RATE_H

#include <cstdint>

namespace ns3
{

struct QbbFrame;

/**
 * @ingroup rdma-qbb
 * @brief Part of its link's rate at which a receiver grants credits where links of the fabric are
 * oversubscribed.
 *
 * Credits alone fill the receiver's link and know nothing of a shared uplink. So a receiver looks
 * at marks and trimmed frames once per 1.5 round trips, drawn from 0.75 to 1.25 times that: it
 * reduces its rate by the part of frames that were trimmed inside the fabric, and by half of the
 * excess of the average part of marked frames over 0.3. Otherwise it increases the rate by 0.01 of
 * the link's, doubled each time that no mark was seen. Frames trimmed at the last hop count as
 * arrived: grants alone answer for that link.
 *
 * The law and its constants are uet-htsim's (OversubscribedCC). The specification leaves the rate
 * of credits to the receiver. Periods end when somebody asks, so that no event is needed.
 */
class UecCreditRate
{
  public:
    /// @param least part of the link's rate
    /// @param rttPs longest idle round trip of any two hosts
    /// @param seed of the draws of periods
    UecCreditRate(double least, int64_t rttPs, uint32_t seed);

    /// A data frame has come, with its payload or without.
    void OnFrame(const QbbFrame& frame, int64_t nowPs);

    /// @return part of the link's rate
    double Get(int64_t nowPs);

  private:
    /// End the periods that are over.
    void EndPeriodsBefore(int64_t nowPs);
    void EndPeriod();
    int64_t DrawPeriodPs();

    double m_least;
    int64_t m_rttPs;
    uint32_t m_seed;
    uint32_t m_periods{0};
    int64_t m_endPs; ///< of the current period
    double m_rate{1};
    double m_averageMarked{0};
    int m_increases{0}; ///< in a row
    uint32_t m_frames{0};
    uint32_t m_marked{0};
    uint32_t m_trimmed{0};       ///< in the fabric
    uint32_t m_trimmedAtEdge{0}; ///< at the last hop
};

} // namespace ns3

#endif /* UEC_CREDIT_RATE_H */

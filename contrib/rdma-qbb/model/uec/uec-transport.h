/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef UEC_TRANSPORT_H
#define UEC_TRANSPORT_H

#include "uec-credit.h"
#include "uec-entropy.h"

#include "ns3/rdma-transport.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Ultra Ethernet transport (specification 1.0, 2025): packet numbers, an entropy value for
 * each packet, selective acknowledgements.
 *
 * TRANSPORT UEC of a configuration chooses this class and its companions: UecDelivery (RUD),
 * UecNscc (congestion control at the sender) and UecTrimming (switches), each a plug-in of its own.
 * With Rccc, receivers grant credits besides, or instead (Nscc off, UecRccc): data frames carry the
 * sender's target, and control frames the receiver's grants.
 *
 * The entropy value is the UDP source port, from which switches hash. An acknowledgement brings it
 * back. With Ordered, all packets of a connection have the value of the connection, and delivery is
 * go-back-N (ROD). With Idempotent, receivers keep no state, and answer each packet by itself
 * (RUDI).
 *
 * Sizes: RUD and ROD requests have 12 bytes of packet delivery and 44 of semantics (standard
 * header); acknowledgements have 32 (with congestion control state and a bitmap of 64 packets) and
 * 12 of semantics. DataBytes and AnswerBytes are the differences to RoCEv2's frames. Packet
 * delivery takes 8 bytes in both with RUDI, which those are reduced by.
 *
 * Left out: packet delivery contexts that several messages share (each connection is one, and has a
 * congestion control context of its own), encryption, LLR and CBFC.
 */
class UecTransport : public RdmaTransport
{
  public:
    static TypeId GetTypeId();

    uint32_t GetFieldBytes() const override;
    uint32_t GetAnswerFieldBytes() const override;
    bool SpreadsFrames() const override;
    TypeId ChooseLossRecovery(TypeId configured) const override;
    TypeId ChooseCongestionControl(TypeId configured) const override;
    void FitToPaths(int64_t longestRttPs) override;
    void FitToOversubscription(double ratio) override;
    void OnReceiverInit(RdmaRxQueuePair& rx) override;
    void OnReceiverClose(RdmaRxQueuePair& rx) override;
    void OnData(RdmaRxQueuePair& rx, const QbbFrame& frame, int64_t nowPs) override;
    bool ShouldAcknowledge(RdmaRxQueuePair& rx, const QbbFrame& frame, bool isDue) override;
    void OnControl(RdmaRxQueuePair& rx, const RdmaControl& control, int64_t nowPs) override;
    void WriteAnswer(RdmaRxQueuePair& rx, QbbFrame& answer, int64_t nowPs) override;
    void OnQpInit(RdmaQueuePair& qp) override;
    void OnPost(RdmaQueuePair& qp, int64_t nowPs) override;
    void OnSend(RdmaQueuePair& qp, QbbFrame& frame, int64_t nowPs) override;
    void ReadAnswer(RdmaQueuePair& qp, QbbFrame& answer) override;
    void OnAnswer(RdmaQueuePair& qp, const QbbFrame& answer, int64_t nowPs) override;
    void OnControl(RdmaQueuePair& qp, const RdmaControl& control, int64_t nowPs) override;
    bool OnStarved(RdmaQueuePair& qp, int64_t nowPs) override;

    /// @return whether receivers grant credits
    bool GrantsCredits() const
    {
        return m_rccc;
    }

    /// @return round trip of a full frame and its ACK between the hosts farthest from each other;
    /// 0 if not known
    int64_t GetNetworkRttPs() const
    {
        return m_networkRttPs;
    }

  private:
    UecCreditPacer& PacerOf(RdmaHw& hw, uint16_t nic);
    /// Tell the receiver the sender's target in a control frame.
    static void Ask(RdmaQueuePair& qp, int64_t nowPs);
    UecCreditSizes CreditSizesOf(const RdmaQueuePair& qp) const;

    UecSpreading m_spreading{UecSpreading::Oblivious};
    uint32_t m_entropyBits{10};
    uint32_t m_dataBytes{40};
    uint32_t m_answerBytes{26};
    bool m_isOrdered{false};
    bool m_isIdempotent{false};
    bool m_nscc{true};
    bool m_rccc{false};
    uint32_t m_creditFrames{4};
    double m_creditShare{1.0};
    bool m_creditAdapts{true};
    double m_oversubscription{1.0};
    double m_unsolicitedFactor{1.0};
    std::vector<std::unique_ptr<UecCreditPacer>> m_pacers; ///< by NIC port
    int64_t m_networkRttPs{0};
};

} // namespace ns3

#endif /* UEC_TRANSPORT_H */

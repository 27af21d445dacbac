/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_PLUG_INS_H
#define RDMA_PLUG_INS_H

#include "rdma-queue-pair.h"

#include "ns3/rdma-congestion-ops.h"
#include "ns3/rdma-loss-recovery.h"
#include "ns3/rdma-transport.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace ns3
{

struct RdmaQueuePairConfig;

/// A constant of a plug-in that keeps a connection from the speed of its path.
struct RdmaMisfit
{
    int64_t baseRttPs{-1}; ///< of the path; below 0: there is none
    std::string text;      ///< which constant, and why
};

/**
 * @ingroup rdma-qbb
 * @brief The congestion control, loss recovery and transport of a host, and the bytes that they
 * want in frames.
 *
 * A base of RdmaHw, so that its attributes reach it. The first two are made when first asked for,
 * as many hosts stay idle. None may be exchanged while queue pairs have state of it.
 */
class RdmaPlugIns
{
  public:
    /// Use this congestion control; before the first queue pair.
    void SetCongestionOps(Ptr<RdmaCongestionOps> ops);

    /// @return the congestion control, of the type that attribute CongestionControl says
    Ptr<RdmaCongestionOps> GetCongestionOps() const
    {
        return m_congestion ? m_congestion : MakeCongestionOps();
    }

    /// @return the loss recovery, of the type that attribute LossRecoveryType says
    Ptr<RdmaLossRecovery> GetLossRecovery() const
    {
        return m_recovery ? m_recovery : MakeLossRecovery();
    }

    /// @return the transport, of the type that attribute TransportType says; null for RoCE
    Ptr<RdmaTransport> GetTransport() const
    {
        return m_transport;
    }

    /// @return RdmaLossRecovery::GetResolved(); 0 for a pair whose network loses nothing
    uint64_t GetResolved(const RdmaQueuePair& qp) const
    {
        return qp.recovery ? m_recovery->GetResolved(qp) : 0;
    }

    /// Let data frames and their acknowledgements carry QbbTelemetry::routingField; before the
    /// first queue pair. @param bytes on the wire; 0: they do not carry it
    void SetRoutingFieldBytes(uint32_t bytes)
    {
        m_routingFieldBytes = bytes;
    }

    /**
     * Tell the loss recovery that frames overtake each other; before the first queue pair.
     * @param lossTime see RdmaLossRecovery::ExpectReordering()
     */
    void ExpectReordering(Time lossTime);

    /// @return constants of congestion control or loss recovery that do not fit a path on which
    /// this host has opened a connection: for each of the two, that of its longest such path
    std::span<const RdmaMisfit> GetMisfits() const
    {
        return m_misfits;
    }

    /// Fix the random streams. @return how many were used
    int64_t AssignStreams(int64_t stream);

  private:
    friend class RdmaHw;
    friend class RdmaReceiver;
    friend class RdmaSender;

    /// The plug-ins' demands on frames: asked once per connection, not per frame.
    struct FrameWishes
    {
        int64_t cnpIntervalPs{0};
        uint32_t telemetryBytes{0};
        uint32_t answerBytes{0}; ///< the same, of answers
        RdmaCongestionOps::Telemetry telemetry{RdmaCongestionOps::Telemetry::None};
        EcnCodepoint ecn{EcnCodepoint::NotEct};
        bool carriesRecord{false}; ///< a QbbTelemetry, for telemetry or fields
    };

    void SetCongestionType(TypeId type);
    TypeId GetCongestionType() const;
    void SetLossRecoveryType(TypeId type);
    TypeId GetLossRecoveryType() const;
    void SetTransportType(TypeId type);
    TypeId GetTransportType() const;
    Ptr<RdmaCongestionOps> MakeCongestionOps() const;
    Ptr<RdmaLossRecovery> MakeLossRecovery() const;

    /// A queue pair will be opened, at either end: make the plug-ins if need be, and ask the
    /// congestion control for its telemetry.
    void PrepareForPair();
    /// A queue pair opens at the sender, and all plug-ins are told.
    void OnOpen(RdmaQueuePair& qp, const RdmaQueuePairConfig& config);
    /// It closes.
    void OnClose(RdmaQueuePair& qp);
    /// Remember which constants do not fit the path of a connection.
    void NoteMisfits(const RdmaQueuePair& qp, const RdmaQueuePairConfig& config);

    /// @return whether a queue pair has a transport
    bool HasTransport(const RdmaQueuePair& qp) const
    {
        return m_transport && !qp.lossless && !qp.contribution;
    }

    /// @return bytes on the wire that telemetry and fields add to data frames
    uint32_t GetRecordBytes() const;
    /// @return the same, of acknowledgements
    uint32_t GetAnswerRecordBytes() const;

    FrameWishes m_wishes;
    mutable Ptr<RdmaCongestionOps> m_congestion;
    mutable Ptr<RdmaLossRecovery> m_recovery;
    Ptr<RdmaTransport> m_transport;      ///< null for RoCE
    std::array<RdmaMisfit, 2> m_misfits; ///< of congestion control and of loss recovery
    int64_t m_stream{-1};                ///< of the congestion control; -1: automatic
    Time m_lossTime;                     ///< see ExpectReordering()
    bool m_reorders{false};              ///< likewise
    uint32_t m_routingFieldBytes{0};     ///< see SetRoutingFieldBytes()
    uint32_t m_openPairs{0};             ///< of this sender
    TypeId m_congestionType;
    TypeId m_recoveryType;
};

} // namespace ns3

#endif /* RDMA_PLUG_INS_H */

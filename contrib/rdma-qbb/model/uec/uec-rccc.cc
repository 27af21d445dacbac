/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "uec-transport.h"

#include "ns3/input-error.h"
#include "ns3/log.h"
#include "ns3/rdma-congestion-ops.h"
#include "ns3/rdma-hw.h"
#include "ns3/rdma-queue-pair.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("UecRccc");

namespace
{

/**
 * @ingroup rdma-qbb
 * @brief Receiver-credit congestion control (RCCC) of Ultra Ethernet 1.0, alone: the sender has no
 * window. UecTransport keeps the account of credits (UecCreditAccount) and grants them
 * (UecCreditPacer).
 */
class UecRccc : public RdmaCongestionOps
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::UecRccc")
                                .SetParent<RdmaCongestionOps>()
                                .SetGroupName("RdmaQbb")
                                .AddConstructor<UecRccc>();
        return tid;
    }

    std::string GetName() const override
    {
        return "RCCC";
    }

    /// Marks say which paths to avoid.
    bool UsesEcn() const override
    {
        return true;
    }

    void OnQpInit(RdmaQueuePair& qp) override
    {
        const auto transport = DynamicCast<UecTransport>(qp.hw->GetTransport());
        if (!transport || !transport->GrantsCredits())
        {
            throw InputError("ns3::RdmaHw::CongestionControl",
                             0,
                             "ns3::UecRccc needs the credits of ns3::UecTransport",
                             "TRANSPORT UEC and UEC_CC rccc");
        }
        NS_LOG_LOGIC(qp.Describe() << " waits for credits");
        qp.SetVariableWindow(false);
        qp.SetWindow(RdmaQueuePair::NO_WINDOW);
    }

    void OnAck(RdmaQueuePair&, const RdmaAckView&) override
    {
    }
};

} // namespace

NS_OBJECT_ENSURE_REGISTERED(UecRccc);

} // namespace ns3

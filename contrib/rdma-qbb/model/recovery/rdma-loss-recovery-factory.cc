/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-loss-recovery-factory.h"

#include "rdma-go-back-n.h"
#include "rdma-irn.h"

#include "ns3/boolean.h"
#include "ns3/fabric-conf.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

Ptr<RdmaLossRecovery>
CreateLossRecovery(const FabricConf& conf)
{
    const Time rto = TimeStep(conf.rtoPs);
    if (conf.lossRecovery == FabricConf::LossRecovery::Irn)
    {
        Ptr<RdmaIrn> irn = CreateObject<RdmaIrn>();
        if (!rto.IsZero())
        {
            TimeValue low;
            irn->GetAttribute("RtoLow", low);
            irn->SetAttribute("RtoLow", TimeValue(std::min(low.Get(), rto)));
            irn->SetAttribute("RtoHigh", TimeValue(rto));
        }
        return irn;
    }
    Ptr<RdmaGoBackN> goBackN = CreateObject<RdmaGoBackN>();
    goBackN->SetAttribute("ChunkBytes", UintegerValue(conf.l2ChunkBytes));
    goBackN->SetAttribute("BackToZero", BooleanValue(conf.l2BackToZero));
    if (!rto.IsZero())
    {
        goBackN->SetAttribute("Timeout", TimeValue(rto));
    }
    return goBackN;
}

} // namespace ns3

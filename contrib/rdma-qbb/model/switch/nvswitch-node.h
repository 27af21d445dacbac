/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NVSWITCH_NODE_H
#define NVSWITCH_NODE_H

#include "switch-node.h"

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief An NVSwitch: joins the GPUs of one server, reduces and multicasts (NVLS).
 *
 * Lossless and without ECN: PFC stands for NVLink's credits. The size of its buffer, and whether
 * thresholds are dynamic, are attributes of its own, so those of SwitchMmu do not count; by default
 * the buffer has all headroom, and thresholds are dynamic. It never joins servers;
 * routes say so. Contributions of in-network operations end here (InNetworkEngine).
 */
class NVSwitchNode : public SwitchNode
{
  public:
    static TypeId GetTypeId();

    NVSwitchNode();
    ~NVSwitchNode() override;

    /// Divide the buffer; after the last port of the MMU was configured.
    /// @param isLinkedToOthers whether other NVSwitches are beyond some ports
    void ConfigureBuffer(bool isLinkedToOthers);

  protected:
    void NotifyConstructionCompleted() override;

  private:
    void SetDynamicThreshold(bool dynamic);
    bool HasDynamicThreshold() const;

    uint64_t m_bufferBytes{0};
    uint64_t m_extraBytes{0};
};

} // namespace ns3

#endif /* NVSWITCH_NODE_H */

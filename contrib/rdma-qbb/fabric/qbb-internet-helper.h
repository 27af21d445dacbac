/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_INTERNET_HELPER_H
#define QBB_INTERNET_HELPER_H

#include "rdma-fabric.h"

#include "ns3/ipv4-address.h"
#include "ns3/ptr.h"

#include <cstdint>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Puts ns-3's ordinary Internet stack on hosts of a fabric, so that any ns-3 application can
 * be background load.
 *
 * Each host has the address of FCT files (QbbPacketBuilder::HostAddress(), network 11.0.0.0/8) at
 * its first NIC port that is not NVLink. Packets travel as frames of kind Other through the same
 * ports, switch queues and buffers as RDMA traffic, in the priority that QbbNetDevice's attribute
 * "OtherPriority" says; a marked frame arrives with Congestion Experienced in its IPv4 header.
 *
 * @code
 * QbbInternetHelper internet(fabric);
 * internet.InstallAll();
 * OnOffHelper load("ns3::UdpSocketFactory",
 *                  InetSocketAddress(QbbInternetHelper::GetAddress(3), 9));
 * load.Install(fabric->GetNode(fabric->GetTopology().NodeOfHost(0)));
 * @endcode
 *
 * IPv4 unicast only: switches forward by host, and nothing floods. The first switch drops packets
 * to an address that is no host's.
 */
class QbbInternetHelper
{
  public:
    /// @param fabric built
    explicit QbbInternetHelper(Ptr<RdmaFabric> fabric);

    /// Put the stack on a host. @param host its number
    void Install(uint32_t host) const;

    /// Put the stack on all hosts.
    void InstallAll() const;

    /// @return a host's address
    static Ipv4Address GetAddress(uint32_t host);

  private:
    Ptr<RdmaFabric> m_fabric;
};

} // namespace ns3

#endif /* QBB_INTERNET_HELPER_H */

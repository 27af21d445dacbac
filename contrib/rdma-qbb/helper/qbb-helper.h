/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_HELPER_H
#define QBB_HELPER_H

#include "ns3/net-device-container.h"
#include "ns3/node-container.h"
#include "ns3/object-factory.h"
#include "ns3/qbb-net-device.h"

#include <cstdint>
#include <string>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Joins nodes by cables: a QbbNetDevice at each end and a QbbChannel between them.
 *
 * A SwitchNode gets the device as its next port, a host with an RdmaDriver (RdmaHostHelper) as its
 * next NIC port, any other node as a plain device.
 *
 * @code
 * QbbHelper qbb;
 * qbb.SetDeviceAttribute("DataRate", StringValue("400Gb/s"));
 * qbb.SetChannelAttribute("Delay", StringValue("500ns"));
 * qbb.Install(host, access);
 * @endcode
 */
class QbbHelper
{
  public:
    QbbHelper();

    /// Set an attribute of the devices installed from now on.
    void SetDeviceAttribute(const std::string& name, const AttributeValue& value);

    /// Set an attribute of the channels installed from now on.
    void SetChannelAttribute(const std::string& name, const AttributeValue& value);

    /// Join two nodes. @return the device at @p a and the device at @p b
    NetDeviceContainer Install(Ptr<Node> a, Ptr<Node> b);

    /// Join each of some nodes with a hub. @return the pairs of devices
    NetDeviceContainer Install(const NodeContainer& nodes, Ptr<Node> hub);

  private:
    Ptr<QbbNetDevice> AddPort(Ptr<Node> node);

    ObjectFactory m_device;
    ObjectFactory m_channel;
    Ptr<QbbNetDevice> m_model; ///< to be copied: objects made from attributes cost much
};

/**
 * @ingroup rdma-qbb
 * @brief Makes switches, with the default attributes of SwitchNode and SwitchMmu.
 */
class SwitchHelper
{
  public:
    SwitchHelper();

    /// Set an attribute of the switches made from now on.
    void SetAttribute(const std::string& name, const AttributeValue& value);

    /// @return a new switch
    Ptr<Node> Create() const;

    /// @return some new switches
    NodeContainer Create(uint32_t count) const;

  private:
    ObjectFactory m_switch;
};

/**
 * @ingroup rdma-qbb
 * @brief Makes nodes RDMA hosts: an RdmaDriver with an RdmaHw on each. Before their cables.
 */
class RdmaHostHelper
{
  public:
    RdmaHostHelper();

    /// Set an attribute of the RdmaHw installed from now on.
    void SetAttribute(const std::string& name, const AttributeValue& value);

    void Install(Ptr<Node> node) const;
    void Install(const NodeContainer& nodes) const;

  private:
    ObjectFactory m_hw;
};

} // namespace ns3

#endif /* QBB_HELPER_H */

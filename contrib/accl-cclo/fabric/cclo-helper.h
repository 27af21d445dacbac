/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CCLO_HELPER_H
#define CCLO_HELPER_H

#include "ns3/cclo-driver.h"
#include "ns3/object-factory.h"
#include "ns3/rdma-fabric.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ns3
{

/**
 * @ingroup accl-cclo
 * @brief Installs collective engines and their drivers on hosts of a fabric.
 *
 * Engines of one helper form a job: communicator 0 of each driver has all hosts, in the order
 * given.
 *
 * @code
 * CcloHelper helper(fabric);
 * std::vector<Ptr<CcloDriver>> drivers = helper.Install({0, 1, 2, 3});
 * @endcode
 *
 * Attributes of the parts are set by their defaults (Config::SetDefault("ns3::CcloFirmware::...")),
 * or by SetDriverAttribute(), SetEngineAttribute() and SetProtocol().
 */
class CcloHelper
{
  public:
    /// @param fabric built
    explicit CcloHelper(Ptr<RdmaFabric> fabric);

    /// Set a driver's attribute.
    void SetDriverAttribute(const std::string& name, const AttributeValue& value);

    /// Set an engine's attribute.
    void SetEngineAttribute(const std::string& name, const AttributeValue& value);

    /// Choose the protocol: ns3::CcloRdmaEngine, ns3::CcloUdpEngine or ns3::CcloTcpEngine, or a
    /// subclass. Without, CcloEngine's attribute "Protocol" says it. @throw std::invalid_argument
    /// if there is no such type
    void SetProtocol(const std::string& typeName);

    /// Install on hosts, by their numbers. @return their drivers, initialised, by rank
    std::vector<Ptr<CcloDriver>> Install(const std::vector<uint32_t>& hosts);

    /// @return how a communicator describes a host
    CcloRank MakeRank(uint32_t host) const;

    /**
     * @return a line for each wait in engines, with the rank in front
     * @param drivers by rank
     */
    static std::vector<std::string> DescribeWaits(const std::vector<Ptr<CcloDriver>>& drivers);

  private:
    Ptr<CcloProtocolEngine> MakeNetwork(uint32_t host, const CcloEngine& engine);

    Ptr<RdmaFabric> m_fabric;
    ObjectFactory m_driver;
    ObjectFactory m_engine;
    std::shared_ptr<std::vector<class CcloRdmaEngine*>> m_rdmaPeers;
    std::shared_ptr<std::map<Ipv4Address, class CcloTcpEngine*>> m_tcpPeers;
};

} // namespace ns3

#endif /* CCLO_HELPER_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_CLIENT_HELPER_H
#define RDMA_CLIENT_HELPER_H

#include "ns3/application-container.h"
#include "ns3/node-container.h"
#include "ns3/node.h"
#include "ns3/object-factory.h"

#include <cstdint>
#include <string>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Installs RdmaClient applications.
 *
 * @code
 * RdmaClientHelper client(7, 1 << 20); // one MiB to host 7
 * client.Install(fabric->GetNode(0)).Start(MicroSeconds(10));
 * @endcode
 */
class RdmaClientHelper
{
  public:
    /// @param remote number of the destination host @param bytes size of the message
    RdmaClientHelper(uint32_t remote, uint64_t bytes);

    /// @param remote the destination, of a fabric that has been built @param bytes as above
    RdmaClientHelper(Ptr<Node> remote, uint64_t bytes);

    /// Set an attribute of the applications installed from now on.
    void SetAttribute(const std::string& name, const AttributeValue& value);

    /// Install one application on @p node.
    ApplicationContainer Install(Ptr<Node> node) const;

    /// Install one application on each node.
    ApplicationContainer Install(const NodeContainer& nodes) const;

  private:
    ObjectFactory m_factory;
};

} // namespace ns3

#endif /* RDMA_CLIENT_HELPER_H */

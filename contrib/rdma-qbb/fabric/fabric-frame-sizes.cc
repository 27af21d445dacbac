/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-frame-sizes.h"

#include "ns3/attribute-default.h"
#include "ns3/qbb-net-device.h"
#include "ns3/rdma-hw.h"

namespace ns3
{

FabricFrameSizes
FabricFrameSizes::Of(const RdmaHw& host)
{
    FabricFrameSizes sizes;
    const uint32_t mtu = host.GetMtu();
    sizes.network.mtuPayload = mtu;
    sizes.network.dataOverhead = host.GetDataWireBytes(mtu, false) - mtu;
    sizes.network.ackWireBytes = host.GetAckWireBytes(false);
    sizes.network.minWireBytes = QbbNetDevice::MIN_WIRE_BYTES;
    sizes.nvlink = sizes.network;
    sizes.nvlink.dataOverhead = host.GetDataWireBytes(mtu, true) - mtu;
    sizes.nvlink.ackWireBytes = host.GetAckWireBytes(true);
    sizes.nvlink.minWireBytes = 0;
    return sizes;
}

FabricFrameSizes
FabricFrameSizes::OfDefaults()
{
    // Note these attributes as read. A host has more, which the sizes do not depend on.
    for (const char* attribute : {"ns3::RdmaHw::Mtu",
                                  "ns3::RdmaHw::DataOverhead",
                                  "ns3::RdmaHw::AckBytes",
                                  "ns3::RdmaHw::NvlinkOverhead",
                                  "ns3::RdmaHw::CongestionControl",
                                  "ns3::RdmaHw::TransportType",
                                  "ns3::UecTransport::DataBytes",
                                  "ns3::UecTransport::AnswerBytes",
                                  "ns3::RdmaCongestionOps::TelemetryBytes"})
    {
        ReadDefault(attribute);
    }
    return Of(*CreateObject<RdmaHw>());
}

} // namespace ns3

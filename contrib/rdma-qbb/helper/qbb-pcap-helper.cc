/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "qbb-pcap-helper.h"

#include "ns3/boolean.h"
#include "ns3/log.h"
#include "ns3/pcap-file-wrapper.h"
#include "ns3/qbb-net-device.h"
#include "ns3/qbb-packet-builder.h"
#include "ns3/simulator.h"

#include <stdexcept>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("QbbPcapHelper");

namespace
{

/// Link-layer type "Ethernet" of pcap files.
constexpr uint32_t LINKTYPE_ETHERNET = 1;

Mac48Address
AddressOf(const QbbNetDevice& device)
{
    return Mac48Address::ConvertFrom(device.GetAddress());
}

void
WriteSent(Ptr<PcapFileWrapper> file,
          uint32_t mtu,
          Ptr<const QbbNetDevice> device,
          const QbbFrame& frame)
{
    const QbbLinkAddresses addresses{AddressOf(*device), AddressOf(*device->GetPeer())};
    file->Write(Simulator::Now(), QbbPacketBuilder(mtu).Build(frame, addresses));
}

void
WriteReceived(Ptr<PcapFileWrapper> file,
              uint32_t mtu,
              Ptr<const QbbNetDevice> device,
              const QbbFrame& frame)
{
    const QbbLinkAddresses addresses{AddressOf(*device->GetPeer()), AddressOf(*device)};
    file->Write(Simulator::Now(), QbbPacketBuilder(mtu).Build(frame, addresses));
}

} // namespace

QbbPcapHelper::QbbPcapHelper(uint32_t mtu)
    : m_mtu(mtu)
{
}

void
QbbPcapHelper::SetSnapLength(uint32_t bytes)
{
    m_snapLength = bytes;
}

void
QbbPcapHelper::EnablePcapInternal(std::string prefix,
                                  Ptr<NetDevice> device,
                                  bool promiscuous,
                                  bool explicitFilename)
{
    const Ptr<QbbNetDevice> port = DynamicCast<QbbNetDevice>(device);
    if (!port)
    {
        NS_LOG_INFO("not a QbbNetDevice: " << device);
        return;
    }
    const std::string name =
        explicitFilename ? prefix : PcapHelper().GetFilenameFromDevice(prefix, device);
    Ptr<PcapFileWrapper> file = CreateObject<PcapFileWrapper>();
    file->SetAttribute("NanosecMode", BooleanValue(true));
    file->Open(name, std::ios::out | std::ios::binary);
    if (file->Fail())
    {
        throw std::runtime_error(name + ": cannot be written");
    }
    file->Init(LINKTYPE_ETHERNET, m_snapLength);
    port->TraceConnectWithoutContext("FrameTx", MakeBoundCallback(&WriteSent, file, m_mtu));
    port->TraceConnectWithoutContext("FrameRx", MakeBoundCallback(&WriteReceived, file, m_mtu));
}

} // namespace ns3

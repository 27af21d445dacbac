/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "qbb-pcap-helper.h"

#include "ns3/boolean.h"
#include "ns3/input-error.h"
#include "ns3/log.h"
#include "ns3/output-file.h"
#include "ns3/pcap-file-wrapper.h"
#include "ns3/qbb-net-device.h"
#include "ns3/qbb-packet-builder.h"
#include "ns3/rdma-fabric.h"
#include "ns3/simulator.h"

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

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

/// @return the numbers of "NODE:PORT", if it has that form
std::optional<std::pair<uint32_t, uint16_t>>
ParsePort(std::string_view text)
{
    const auto parse = [](std::string_view digits, auto& value) {
        const char* const end = digits.data() + digits.size();
        const auto [stop, error] = std::from_chars(digits.data(), end, value);
        return error == std::errc() && stop == end;
    };
    const std::size_t colon = text.find(':');
    std::pair<uint32_t, uint16_t> port;
    if (colon == std::string_view::npos || !parse(text.substr(0, colon), port.first) ||
        !parse(text.substr(colon + 1), port.second))
    {
        return std::nullopt;
    }
    return port;
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

QbbPcapCapture::QbbPcapCapture(Ptr<PcapFileWrapper> file, std::string path)
    : m_file(std::move(file)),
      m_path(std::move(path))
{
}

void
QbbPcapCapture::Finish()
{
    const bool failed = m_file->Fail();
    m_file->Close();
    if (failed || m_file->Fail() ||
        std::rename((m_path + OutputFile::PART_SUFFIX).c_str(), m_path.c_str()) != 0)
    {
        throw InputError(m_path, 0, "cannot be written to its end", "space on the disk");
    }
}

QbbPcapCapture
QbbPcapHelper::Capture(const RdmaFabric& fabric,
                       const std::string& port,
                       const std::string& directory)
{
    const auto numbers = ParsePort(port);
    if (!numbers)
    {
        throw InputError("command line", 0, "--pcap " + port, "NODE:PORT, such as 0:0");
    }
    const auto [node, index] = *numbers;
    const ClusterTopology& topology = fabric.GetTopology();
    if (node >= topology.nodeCount)
    {
        throw InputError("command line",
                         0,
                         "--pcap " + port + ": there is no node " + std::to_string(node),
                         "0 to " + std::to_string(topology.nodeCount - 1));
    }
    const std::size_t ports = topology.Ports(node).size();
    if (index >= ports)
    {
        throw InputError("command line",
                         0,
                         "--pcap " + port + ": node " + std::to_string(node) + " has " +
                             std::to_string(ports) + " ports",
                         "0 to " + std::to_string(ports - 1));
    }
    const std::string name = "node-" + std::to_string(node) + "-port-" + std::to_string(index);
    const std::string path = (std::filesystem::path(directory) / (name + ".pcap")).string();
    return {QbbPcapHelper(fabric.GetHw(0).GetMtu())
                .Open(path + OutputFile::PART_SUFFIX, &fabric.GetDevice(node, index)),
            path};
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
    Open(name, port);
}

Ptr<PcapFileWrapper>
QbbPcapHelper::Open(const std::string& name, const Ptr<QbbNetDevice>& port) const
{
    Ptr<PcapFileWrapper> file = CreateObject<PcapFileWrapper>();
    file->SetAttribute("NanosecMode", BooleanValue(true));
    file->Open(name, std::ios::out | std::ios::binary);
    if (file->Fail())
    {
        throw InputError(name, 0, "cannot be written", "a path in a writable directory");
    }
    file->Init(LINKTYPE_ETHERNET, m_snapLength);
    port->TraceConnectWithoutContext("FrameTx", MakeBoundCallback(&WriteSent, file, m_mtu));
    port->TraceConnectWithoutContext("FrameRx", MakeBoundCallback(&WriteReceived, file, m_mtu));
    return file;
}

} // namespace ns3

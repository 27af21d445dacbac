/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_PCAP_HELPER_H
#define QBB_PCAP_HELPER_H

#include "ns3/ptr.h"
#include "ns3/trace-helper.h"

#include <cstdint>
#include <string>

namespace ns3
{

class PcapFileWrapper;
class QbbNetDevice;
class RdmaFabric;

/// A capture that a command line has asked for; its file has its name once Finish() is called.
class QbbPcapCapture
{
  public:
    /// @param file to complete @param path its name, which it does not have yet
    QbbPcapCapture(Ptr<PcapFileWrapper> file, std::string path);

    /// Complete the file; nothing may be captured afterwards. @throw InputError if it cannot be
    /// written
    void Finish();

  private:
    Ptr<PcapFileWrapper> m_file;
    std::string m_path;
};

/**
 * @ingroup rdma-qbb
 * @brief Writes frames that ports of QbbNetDevices send and receive to pcap files.
 *
 * One file per port, with nanosecond time stamps and real packets (see QbbPacketBuilder): RoCEv2,
 * PFC as MAC control, and all that ordinary protocol stacks send. A frame sent is stamped when its
 * transmission begins, a frame received when it has arrived whole. Frames lost on the wire appear
 * at the sender only.
 *
 * @code
 * QbbPcapHelper pcap(1000); // payload bytes of a full frame
 * pcap.EnablePcap("run", device);            // run-<node>-<interface>.pcap
 * pcap.EnablePcap("run", NodeContainer(a, b));
 * pcap.EnablePcapAll("run");
 * @endcode
 *
 * Costs nothing at ports that are not enabled. Packet sequence numbers need the payload size of
 * the connections, which is why the helper asks for it.
 */
class QbbPcapHelper : public PcapHelperForDevice
{
  public:
    /// @param mtu payload bytes of a full data frame (PACKET_PAYLOAD_SIZE)
    explicit QbbPcapHelper(uint32_t mtu);

    /**
     * Capture one port of a fabric that a command line names (--pcap).
     * @param port "NODE:PORT": a node of the topology, and the number of its link in file order
     * @param directory gets the file node-NODE-port-PORT.pcap
     * @return the capture, to be finished after the run
     * @throw InputError if there is no such port or the file cannot be written
     */
    static QbbPcapCapture Capture(const RdmaFabric& fabric,
                                  const std::string& port,
                                  const std::string& directory);

    /// Keep only this many bytes of each packet. Default: all
    void SetSnapLength(uint32_t bytes);

  private:
    void EnablePcapInternal(std::string prefix,
                            Ptr<NetDevice> device,
                            bool promiscuous,
                            bool explicitFilename) override;

    /// @return the file, open, with its header
    Ptr<PcapFileWrapper> Open(const std::string& name, const Ptr<QbbNetDevice>& port) const;

    uint32_t m_mtu;
    uint32_t m_snapLength{UINT32_MAX};
};

} // namespace ns3

#endif /* QBB_PCAP_HELPER_H */

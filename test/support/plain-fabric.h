/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PLAIN_FABRIC_H
#define PLAIN_FABRIC_H

#include "../../contrib/rdma-qbb/test/text-fabric.h"

#include "ns3/callback.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3
{

/// A small fabric without congestion control, to which a test posts messages.
class PlainFabric : public BuiltFabric
{
  public:
    static constexpr uint64_t PAYLOAD = 1000; ///< bytes of a full frame

    explicit PlainFabric(const std::string& topology, const std::string& keys = {})
        : BuiltFabric(topology, "PACKET_PAYLOAD_SIZE 1000\nCC_MODE 0\nHAS_WIN 0\n" + keys)
    {
    }

    /// Connect two hosts and post a message of full frames, whose delivery and completion go into
    /// timesPs.
    RdmaQueuePair* Send(uint32_t from,
                        uint32_t to,
                        uint64_t frames,
                        const RdmaConnectionOptions& options = {})
    {
        RdmaQueuePair* qp = fabric->GetDriver(from)->Connect(to, options);
        Post(*qp, frames * PAYLOAD);
        return qp;
    }

    /// Post a message, likewise.
    void Post(RdmaQueuePair& qp, uint64_t bytes)
    {
        const auto note = [this] { timesPs.push_back(Simulator::Now().GetTimeStep()); };
        qp.hw->PostMessage(qp, bytes, note, note);
    }

    /// Count frames that a port sends and receives, each at its time.
    void Watch(uint32_t node, uint16_t port)
    {
        for (const char* source : {"FrameTx", "FrameRx"})
        {
            fabric->GetDevice(node, port)
                .TraceConnectWithoutContext(source, MakeBoundCallback(&PlainFabric::Note, &seenPs));
        }
    }

    std::vector<int64_t> timesPs; ///< of deliveries and completions
    std::vector<int64_t> seenPs;  ///< of watched frames

  private:
    static void Note(std::vector<int64_t>* times, Ptr<const QbbNetDevice>, const QbbFrame&)
    {
        times->push_back(Simulator::Now().GetTimeStep());
    }
};

} // namespace ns3

#endif /* PLAIN_FABRIC_H */

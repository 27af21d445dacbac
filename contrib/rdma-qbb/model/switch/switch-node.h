/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SWITCH_NODE_H
#define SWITCH_NODE_H

#include "switch-mmu.h"

#include "ns3/forwarding-table.h"
#include "ns3/in-network-hook.h"
#include "ns3/node.h"
#include "ns3/pint-encoder.h"
#include "ns3/qbb-net-device.h"
#include "ns3/routing-policy.h"
#include "ns3/simulator.h"
#include "ns3/traced-callback.h"
#include "ns3/watched-trace.h"

#include <cstdint>
#include <numeric>
#include <vector>

namespace ns3
{

// Hot path: OnFrameArrival and OnFrameDeparture run once per packet and switch.

/**
 * @ingroup rdma-qbb
 * @brief A shared-buffer Ethernet switch: shortest-path forwarding, PFC, ECN, in-band telemetry.
 *
 * A frame is stored whole, admitted by the MMU, and queued at the egress that the forwarding table
 * and ECMP (a hash of the 5-tuple with the switch's seed) or a RoutingPolicy choose. When it begins
 * to leave, the buffer is released, the partner that was paused may be resumed, the frame may be
 * marked CE, and a telemetry record is added if the frame carries telemetry (HPCC, section 3.1).
 *
 * Left out: cut-through, address learning, spanning trees, forwarding latency of its own (attribute
 * of the link).
 */
class SwitchNode : public Node, public LinkNode
{
  public:
    static TypeId GetTypeId();

    SwitchNode();
    ~SwitchNode() override;

    /// Add @p device as the next port. @return its port index
    uint16_t AddPort(Ptr<QbbNetDevice> device);

    /// Set where frames go; null removes it. The table outlives the simulation or is replaced.
    void SetForwardingTable(const ForwardingTable* table)
    {
        m_table = table;
    }

    /// Choose paths by a policy of this type, an object of which is made for this switch.
    void SetRoutingPolicyType(TypeId type);

    /// Choose paths by ECMP, which is built in.
    void RouteByEcmp();

    /// @return the policy; null for ECMP, which is built in
    Ptr<RoutingPolicy> GetRoutingPolicy() const
    {
        return m_policy;
    }

    /// @return whether a queue pair's frames all take the port that ECMP's hash chooses
    bool UsesEcmp() const
    {
        return !m_policy;
    }

    /// @return seed of this switch's EcmpChoice()
    uint32_t GetEcmpSeed() const
    {
        return m_seed;
    }

    /// @return the shared buffer
    Ptr<SwitchMmu> GetMmu() const
    {
        return m_mmu;
    }

    /// @return port @p index
    QbbNetDevice& GetPort(uint16_t index) const
    {
        return *m_ports[index];
    }

    /// @return number of ports
    uint16_t GetPortCount() const
    {
        return static_cast<uint16_t>(m_ports.size());
    }

    /// @return whether a port leads to a host, not to another switch
    bool LeadsToHost(uint16_t port) const;

    /// @return frames marked CE that left by a port
    uint64_t GetMarks(uint16_t port) const
    {
        return m_marks[port];
    }

    /// @return frames marked CE
    uint64_t GetMarks() const
    {
        return std::accumulate(m_marks.begin(), m_marks.end(), uint64_t{0});
    }

    /// @return frames for which the buffer had no room
    uint64_t GetBufferDrops() const
    {
        return m_bufferDrops;
    }

    /// @return those of them that PFC protects
    uint64_t GetLosslessDrops() const
    {
        return m_losslessDrops;
    }

    /// @return data frames for a port that were forwarded without their payload
    uint64_t GetTrims(uint16_t port) const
    {
        return m_trims[port];
    }

    /// @return data frames forwarded without their payload
    uint64_t GetTrims() const
    {
        return std::accumulate(m_trims.begin(), m_trims.end(), uint64_t{0});
    }

    /// @return frames without a path to their destination
    uint64_t GetRouteDrops() const
    {
        return m_routeDrops;
    }

    /// @return RDMA payload bytes in all frames dropped or trimmed here
    uint64_t GetDroppedPayload() const
    {
        return m_droppedPayload;
    }

    /// Turn ECN marking on or off.
    void SetEcnEnabled(bool enabled)
    {
        m_ecnEnabled = enabled;
    }

    /// Let HPCC-PINT frames be encoded here. @param encoder this switch's own
    void SetPintEncoder(Ptr<PintEncoder> encoder);

    /// Let this switch carry out in-network operations.
    void SetInNetworkHook(Ptr<InNetworkHook> hook)
    {
        m_inNetwork = hook;
    }

    // --- for InNetworkEngine
    /// Send a contribution's last frame back to its member as the acknowledgement. Takes the frame.
    void AcknowledgeContribution(QbbFrame* frame, uint64_t seq, int64_t nowPs);

    /**
     * Queue a result at a port. Results wait in the switch's reduction unit, not in the shared
     * buffer: the members' frames under way bound them. Takes the frame.
     */
    void ForwardResult(QbbFrame* frame, uint16_t outPort, int64_t nowPs)
    {
        frame->inPort = NO_PORT;
        QbbNetDevice& device = *m_ports[outPort];
        if (device.CanSendNow(nowPs))
        {
            device.SendNow(frame, nowPs);
        }
        else
        {
            device.Enqueue(frame, nowPs);
        }
    }

    /// Fix the random streams. @return how many were used
    virtual int64_t AssignStreams(int64_t stream);

    /// Somebody connects to the trace source of marks.
    void OnWatched();

    // --- LinkNode
    void OnFrameArrival(uint16_t port, QbbFrame* frame, int64_t nowPs) final;
    ArrivalCall GetArrivalCall() const override;
    void OnFrameDeparture(uint16_t port, QbbFrame& frame, int64_t nowPs) override;

    /// Signature of "Drop" and "Trim".
    typedef void (*DropCallback)(Ptr<const SwitchNode> node, const QbbFrame& frame);
    /// Signature of "Mark": @p node marks @p frame, which port @p port begins to send, or queues if
    /// a buffer policy marks it.
    typedef void (*MarkCallback)(Ptr<const SwitchNode> node, uint16_t port, const QbbFrame& frame);

  protected:
    void DoInitialize() override;
    void DoDispose() override;

  private:
    /// Send @p frame by @p outPort: at once if it is idle, else by way of the buffer.
    void Forward(QbbFrame* frame, uint16_t outPort, int64_t nowPs);
    /// Admit @p frame and queue it at @p outPort, or drop it.
    void Store(QbbFrame* frame, uint16_t outPort, int64_t nowPs);
    /// Admit a frame if the buffer policy has it so, and there is room. @return whether it is
    bool Admit(QbbFrame& frame, uint16_t outPort, int64_t nowPs);
    void Mark(QbbFrame& frame, uint16_t outPort);
    /// Cut off the payload of a frame for a port. @return whether it had one
    bool Trim(QbbFrame& frame, uint16_t outPort);
    /// Count and free a frame.
    void Drop(QbbFrame* frame, int64_t nowPs);
    uint16_t Route(const QbbFrame& frame, int64_t nowPs) const;
    /// Write a port's record into a frame that leaves it.
    void Record(uint16_t port, QbbFrame& frame, int64_t nowPs);
    void AddTelemetry(uint16_t port, QbbFrame& frame, int64_t nowPs);
    void UpdatePint(uint16_t port, QbbTelemetry* telemetry, uint32_t wireBytes, int64_t nowPs);
    void ResumePartner(uint16_t port, uint8_t priority, int64_t nowPs);

    /// No route; or, as a frame's inPort: made here.
    static constexpr uint16_t NO_PORT = UINT16_MAX;

    TypeId GetRoutingPolicyType() const;

    // hot
    std::vector<QbbNetDevice*> m_ports; ///< borrowed from the node's device list
    const ForwardingTable* m_table{nullptr};
    Ptr<SwitchMmu> m_mmu;
    Ptr<PintEncoder> m_pintEncoder;
    Ptr<RoutingPolicy> m_policy;
    uint32_t m_seed{0}; ///< of attribute and node id
    bool m_ecnEnabled{true};
    bool m_marksWatched{false};
    bool m_policyWatches{false};  ///< m_policy->OnForward() is to be called
    bool m_returnsCredits{false}; ///< some port has LinkCredits

    // seldom
    Ptr<InNetworkHook> m_inNetwork;
    uint32_t m_seedOfAll{1};
    std::vector<uint64_t> m_marks; ///< by port
    std::vector<uint64_t> m_trims; ///< by port
    uint64_t m_bufferDrops{0};
    uint64_t m_losslessDrops{0};
    uint64_t m_routeDrops{0};
    uint64_t m_droppedPayload{0};
    std::vector<PintPortState> m_pintPorts;
    TracedCallback<Ptr<const SwitchNode>, const QbbFrame&> m_drop;
    TracedCallback<Ptr<const SwitchNode>, const QbbFrame&> m_trim;
    WatchedTrace<SwitchNode, Ptr<const SwitchNode>, uint16_t, const QbbFrame&> m_mark{*this};
};

} // namespace ns3

#endif /* SWITCH_NODE_H */

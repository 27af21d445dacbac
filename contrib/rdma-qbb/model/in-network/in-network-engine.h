/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IN_NETWORK_ENGINE_H
#define IN_NETWORK_ENGINE_H

#include "in-network-queue.h"

#include "ns3/in-network-hook.h"
#include "ns3/qbb-frame.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace ns3
{

class RdmaHw;
class SwitchNode;

/// One member of an in-network operation.
struct InNetworkMember
{
    RdmaHw* host{nullptr};  ///< the member
    uint16_t nic{0};        ///< its NIC port to the switch
    uint16_t switchPort{0}; ///< the switch's port to it
    uint32_t at{0};         ///< the switch: index in InNetworkSpec::switches

    /// @return the host's number; any caller may ask while it sets up
    uint32_t GetHostIndex() const;
};

/// A switch of an in-network operation; switches form a tree.
struct InNetworkSwitch
{
    SwitchNode* node{nullptr};
    uint32_t parent{0};     ///< index of the switch above; the root's own
    uint16_t upPort{0};     ///< its port to the switch above
    uint16_t parentPort{0}; ///< that switch's port to it
};

/// Kind of an in-network operation.
enum class InNetworkKind : uint8_t
{
    Reduce,          ///< every member sends, the root receives the sum
    Multicast,       ///< the root sends, every member receives
    ReduceMulticast, ///< every member sends, every member receives the sum
};

/// Payload that switches work on: they send a sum, or a copy, of the payload that they take in.
struct InNetworkPayload
{
    uint64_t taken{0}; ///< bytes of frames that end at a switch
    uint64_t made{0};  ///< bytes of frames that begin there
};

/// An operation over a group of hosts that switches carry out.
struct InNetworkSpec
{
    InNetworkKind kind{InNetworkKind::ReduceMulticast};
    std::vector<InNetworkSwitch> switches; ///< the root of their tree first
    std::vector<InNetworkMember> members;  ///< hosts that take part
    bool nvlink{true};                     ///< frames are NVLink's, not the network's
    uint32_t root{0};                      ///< index in members, of Reduce and Multicast
    uint64_t bytes{0};                     ///< of the vector that is reduced or copied
    uint8_t priority{3};                   ///< of its frames
    uint64_t rateCapBps{0};                ///< of each sender; 0 for none
    double wireInflation{1};               ///< bytes on links per byte of the vector
};

/**
 * @ingroup rdma-qbb
 * @brief Reduction and multicast in switches, as NVLink SHARP (NVLS) and CollNet have them.
 *
 * A member's contribution travels to its switch as data frames; the switch keeps the sum (it counts
 * bytes: the values do not matter here) and, as soon as every next byte is there from all that send
 * to it, sends them on: to the switch above, and from the topmost down again, to the root or to all
 * members as a multicast. Contributions stream, so the operation costs each member, and each link
 * between switches, one pass up and one pass down.
 *
 * One engine serves all switches and hosts of a fabric; frames name the operation in qpn.
 *
 * A contribution is acknowledged when its switch has all of it. A lost frame would not be sent
 * again: links between members and switches must lose nothing.
 *
 * With SetPlaces(), an operation of network switches begins when all its members have joined and
 * each of its switches has a place for it. It keeps them until all members are done.
 *
 * Left out: precision and time of the switch's arithmetic; without SetPlaces(), a limit on the data
 * that a switch holds while other contributions are late.
 */
class InNetworkEngine : public InNetworkHook
{
  public:
    static TypeId GetTypeId();

    InNetworkEngine();
    ~InNetworkEngine() override;

    /// Network switches carry out at most so many operations at a time; 0: any number. Called
    /// before Open().
    void SetPlaces(uint32_t places)
    {
        m_queue = InNetworkQueue(places);
    }

    /// Make an operation that its members then join. @return its number
    uint32_t Open(InNetworkSpec spec);

    /**
     * A member joins the operation.
     * @param done called when the member has received its data, or, if it only sends, when the
     * network has taken them
     */
    void Join(uint32_t operation, uint32_t member, std::function<void()> done);

    // --- InNetworkHook
    void OnSwitchFrame(SwitchNode& node, QbbFrame* frame, int64_t nowPs) override;
    void OnHostFrame(const RdmaHw& host, const QbbFrame& frame) override;

    /// @return operations that are not complete
    uint64_t GetOpenCount() const
    {
        return m_openCount;
    }

    /// @return the payload that all switches have taken in and made
    const InNetworkPayload& GetPayload() const
    {
        return m_payload;
    }

  private:
    struct Operation;

    /// A part of a sum or result that a switch sends on: the fields that its frames have in common.
    struct Piece
    {
        uint64_t seq;
        uint32_t operation;
        uint32_t wireBytes;
        uint16_t payload;
        uint8_t priority;
        uint8_t flags;
    };

    /// @return whether an operation waits for places at its switches
    bool IsQueued(const Operation& operation) const;
    /// A member that has joined takes part.
    void Begin(Operation& operation, uint32_t index, uint32_t member);
    void Send(Operation& operation, uint32_t index, uint32_t member);
    void OnContribution(SwitchNode& node, QbbFrame* frame, int64_t nowPs);
    void OnResult(SwitchNode& node, QbbFrame* frame, int64_t nowPs);
    /// Send on all that every sender to a switch has contributed.
    void Emit(Operation& operation, uint32_t index, uint32_t at, int64_t nowPs);
    /// Send a part of the result from a switch to all below it that receive.
    void SendDown(Operation& operation,
                  uint32_t index,
                  uint32_t at,
                  uint64_t seq,
                  uint16_t payload,
                  int64_t nowPs);
    static Piece MakePiece(const Operation& operation,
                           uint32_t index,
                           QbbDataFlags flag,
                           uint64_t seq,
                           uint16_t payload);
    /// Send a piece from a switch to the host or switch of a number.
    void SendPiece(const Piece& piece,
                   SwitchNode& node,
                   uint16_t port,
                   uint32_t dst,
                   uint16_t number,
                   int64_t nowPs);
    void MemberDone(Operation& operation, uint32_t index, uint32_t member);

    std::vector<std::unique_ptr<Operation>> m_operations;
    std::vector<uint32_t> m_free;
    InNetworkQueue m_queue;
    uint64_t m_openCount{0};
    InNetworkPayload m_payload;
};

} // namespace ns3

#endif /* IN_NETWORK_ENGINE_H */

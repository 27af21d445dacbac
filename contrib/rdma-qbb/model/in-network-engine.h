/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IN_NETWORK_ENGINE_H
#define IN_NETWORK_ENGINE_H

#include "qbb-frame.h"

#include "ns3/object.h"

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
};

/// What an in-network operation does.
enum class InNetworkKind : uint8_t
{
    Reduce,          ///< every member sends, the root receives the sum
    Multicast,       ///< the root sends, every member receives
    ReduceMulticast, ///< every member sends, every member receives the sum
};

/// An operation over a group of hosts that one switch carries out.
struct InNetworkSpec
{
    InNetworkKind kind{InNetworkKind::ReduceMulticast};
    SwitchNode* node{nullptr};            ///< the switch
    std::vector<InNetworkMember> members; ///< hosts that take part
    uint32_t root{0};                     ///< index in members, of Reduce and Multicast
    uint64_t bytes{0};                    ///< of the vector that is reduced or copied
    uint8_t priority{3};                  ///< of its frames
    uint64_t rateCapBps{0};               ///< of each sender; 0 for none
};

/**
 * @brief Reduction and multicast in switches: what NVLink SHARP (NVLS) and CollNet do.
 *
 * A member's contribution travels to the switch as data frames; the switch keeps the sum (it counts
 * bytes: the values do not matter here) and, as soon as every member's next bytes are there, sends
 * them on: to the root, or to all members as a multicast. Contributions stream, so the operation
 * costs each member one pass up and one pass down.
 *
 * One engine serves all switches and hosts of a fabric; frames name the operation in qpn.
 *
 * Left out: precision and time of the switch's arithmetic, limits on operations at once.
 */
class InNetworkEngine : public Object
{
  public:
    static TypeId GetTypeId();

    InNetworkEngine();
    ~InNetworkEngine() override;

    /// Make an operation that its members then join. @return its number
    uint32_t Open(InNetworkSpec spec);

    /**
     * A member takes part from now on.
     * @param done called when it has all it receives, or, if it only sends, when that was taken
     */
    void Join(uint32_t operation, uint32_t member, std::function<void()> done);

    // --- for switches and hosts

    /// A contribution arrived at the switch. Takes the frame.
    void OnSwitchFrame(SwitchNode& node, QbbFrame* frame, int64_t nowPs);

    /// A result arrived at a host. Does not take the frame.
    void OnHostFrame(const RdmaHw& host, const QbbFrame& frame);

    /// @return operations that are not complete
    uint64_t GetOpenCount() const
    {
        return m_openCount;
    }

  private:
    struct Operation;

    void Send(Operation& operation, uint32_t index, uint32_t member);
    /// Send everything that all members have contributed.
    void Emit(Operation& operation, uint32_t index, int64_t nowPs);
    void EmitTo(Operation& operation,
                uint32_t index,
                uint32_t member,
                uint16_t payload,
                int64_t nowPs);
    void MemberDone(Operation& operation, uint32_t index, uint32_t member);

    std::vector<std::unique_ptr<Operation>> m_operations;
    std::vector<uint32_t> m_free;
    uint64_t m_openCount{0};
};

} // namespace ns3

#endif /* IN_NETWORK_ENGINE_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ASTRA_NETWORK_API_H
#define ASTRA_NETWORK_API_H

#include "ns3/clock-range.h"

#include <cstdint>
#include <span>

namespace AstraSim
{

/// Simulated time in picoseconds, the unit of every layer of this front end.
using TimePs = int64_t;

/// Unit of a timespec_t.
enum time_type_e
{
    SE = 0,
    MS,
    US,
    NS,
    FS
};

/// A time as ASTRA-sim's network API passes it; every backend here returns NS with a fraction.
struct timespec_t
{
    time_type_e time_res; ///< unit of time_val
    double time_val;      ///< the value; exact to a picosecond up to 9000 simulated seconds
};

/// @return @p ps as the API's time type
inline timespec_t
MakeTimespec(TimePs ps)
{
    return {NS, static_cast<double>(ps) / 1000.0};
}

/// @return @p time in picoseconds, rounded to the nearest; at most the clock's end
inline TimePs
ToPicoseconds(timespec_t time)
{
    static constexpr double PS_PER_UNIT[] = {1e12, 1e9, 1e6, 1e3, 1e-3};
    return ns3::RoundToPs(time.time_val * PS_PER_UNIT[time.time_res]);
}

/// Element type of a message; sizes are given in bytes whatever the type.
enum req_type_e
{
    UINT8 = 0,
    BFLOAT16,
    FP32
};

/// All messages of one (source, destination, tag), as a network knows them.
struct MessageStream;

/// What a message belongs to: carried for records and per-flow options, never for matching.
struct sim_request
{
    uint32_t srcRank{0};
    uint32_t dstRank{0};
    uint32_t tag{0};
    req_type_e reqType{UINT8};
    uint64_t reqCount{0};    ///< bytes
    uint32_t vnet{0};        ///< stream queue the message belongs to
    uint32_t layerNum{0};    ///< layer of the workload
    uint32_t collective{0};  ///< collective instance, from 1; 0 for none
    uint16_t purpose{0};     ///< what it is for, see TrafficPurpose()
    uint32_t channel{0};     ///< NCCL channel: chooses the QP of the connection
    uint32_t nic{0};         ///< chooses the NIC of a source that has several: the remainder counts
    TimePs sendLatency{0};   ///< software latency before the first byte leaves
    double wireInflation{1}; ///< bytes on the wire per byte of message (LL 2, LL128 128/120)
    uint64_t rateCapBps{0};  ///< a channel's own speed limit in bit/s; 0 for none
    /// Names the collective alike on all its ranks, in whatever order they begin what they share
    /// with others. A network whose ranks are processes of their own matches by it and by the last
    /// 8 bits of the tag, since each process gives out tags for itself.
    uint64_t collectiveKey{NO_COLLECTIVE};
    static constexpr uint64_t NO_COLLECTIVE = UINT64_MAX;
    bool isCredit{false}; ///< tells a sender, against the lane's direction, that a slot is free
    /// Set by the network. Who gives it back with the next message of the same source, destination
    /// and tag saves the network a look-up; null is always right.
    MessageStream* stream{nullptr};
};

/// An operation that switches of the network carry out on a group of ranks (NVLS, CollNet).
enum class InNetworkOp
{
    Reduce,          ///< every member sends, the root receives the sum
    Multicast,       ///< the root sends once, every member receives
    ReduceMulticast, ///< every member sends, every member receives the sum
};

/// Called when a message has been sent or received.
using MessageHandler = void (*)(void* arg);

/**
 * @brief One rank's access to a network, with the signatures of ASTRA-sim's AstraNetworkAPI.
 *
 * The system layer above knows nothing else of the network; ns-3, analytical and physical backends
 * implement it. There is one object per rank. No call blocks; handlers run from the backend's event
 * loop, never from inside the call that registered them.
 *
 * Messages match by (source, destination, tag) in the order in which they were sent; the send or
 * the receive may come first; the sizes of sends and receives may split or join (a connection is a
 * stream of bytes, as in NCCL).
 */
class AstraNetworkAPI
{
  public:
    enum class BackendType
    {
        NotSpecified,
        Garnet,
        NS3,
        Analytical,
        Physical
    };

    explicit AstraNetworkAPI(int rank)
        : m_rank(rank)
    {
    }

    virtual ~AstraNetworkAPI() = default;

    virtual BackendType get_backend_type() const
    {
        return BackendType::NotSpecified;
    }

    /// @return this rank's number in the whole job set
    int sim_comm_get_rank() const
    {
        return m_rank;
    }

    /// @return the number of ranks of the network (all jobs)
    virtual int sim_comm_get_size() const = 0;

    /// @return the current simulated time
    virtual timespec_t sim_get_time() = 0;

    /// Run @p handler with @p arg after @p delta (which may be 0).
    virtual void sim_schedule(timespec_t delta, MessageHandler handler, void* arg) = 0;

    /**
     * Send @p count bytes to rank @p dst. @p handler (may be null) runs when the sender may reuse
     * the buffer: at the last acknowledgement.
     * @return 0
     */
    virtual int sim_send(void* buffer,
                         uint64_t count,
                         int type,
                         int dst,
                         int tag,
                         sim_request* request,
                         MessageHandler handler,
                         void* arg) = 0;

    /**
     * Receive @p count bytes from rank @p src. @p handler (may be null) runs when the last of them
     * has been delivered here.
     * @return 0
     */
    virtual int sim_recv(void* buffer,
                         uint64_t count,
                         int type,
                         int src,
                         int tag,
                         sim_request* request,
                         MessageHandler handler,
                         void* arg) = 0;

    /// @return whether switches can carry out @p op for the ranks of @p members
    virtual bool sim_in_network_supported(InNetworkOp op, std::span<const int> members) const
    {
        return false;
    }

    /**
     * Take part in an in-network operation over @p count bytes. Every member calls it with the same
     * @p op, @p members, @p root and @p tag; operations of one (members, tag) run in the order of
     * the calls. @p handler runs when this member has everything it receives from the operation (a
     * member that only sends: when its buffer may be reused).
     * @return 0, or -1 where sim_in_network_supported() says no or a rank is none of @p members
     */
    virtual int sim_in_network(InNetworkOp op,
                               std::span<const int> members,
                               int root,
                               uint64_t count,
                               int tag,
                               sim_request* request,
                               MessageHandler handler,
                               void* arg)
    {
        return -1;
    }

    /// @return within the handler of a receive: when its message was sent, if the network carries
    /// that along; otherwise the current time
    virtual timespec_t sim_get_sent_time()
    {
        return sim_get_time();
    }

    /// This rank has nothing more to do.
    virtual int sim_notify_finished()
    {
        return 0;
    }

    /// @return bandwidth of a logical dimension in GB/s (10^9), or -1 if the backend does not know
    virtual double get_BW_at_dimension(int dim)
    {
        return -1;
    }

  private:
    int m_rank;
};

} // namespace AstraSim

#endif /* ASTRA_NETWORK_API_H */

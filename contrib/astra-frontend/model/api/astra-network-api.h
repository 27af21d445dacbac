/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ASTRA_NETWORK_API_H
#define ASTRA_NETWORK_API_H

#include "ns3/rank-network.h"

#include <cstdint>

namespace AstraSim
{

/// Unit of a timespec_t.
enum time_type_e
{
    SE = 0,
    MS,
    US,
    NS,
    FS
};

/// A time as ASTRA-sim's network API passes it; all networks here return NS with a fraction.
struct timespec_t
{
    time_type_e time_res; ///< unit of time_val
    double time_val;      ///< the value; exact to a picosecond up to 9000 simulated seconds
};

/// Element type of a message; sizes are in bytes for all types.
enum req_type_e
{
    UINT8 = 0,
    BFLOAT16,
    FP32
};

/// ASTRA-sim's description of a message.
struct sim_request
{
    uint32_t srcRank{0};
    uint32_t dstRank{0};
    uint32_t tag{0};
    req_type_e reqType{UINT8};
    uint64_t reqCount{0}; ///< bytes
    uint32_t vnet{0};     ///< stream queue the message belongs to
    uint32_t layerNum{0}; ///< layer of the workload
};

/**
 * @ingroup astra-frontend
 * @brief ASTRA-sim's network API: the calls of its system layer to the network, for one rank.
 *
 * Names and arguments are ASTRA-sim's (AstraNetworkAPI.hh), so that code written for it runs here
 * unchanged. Nothing in this project is written against it but its adapter, ASTRASimNetwork.
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
        : rank(rank)
    {
    }

    virtual ~AstraNetworkAPI() = default;

    virtual BackendType get_backend_type()
    {
        return BackendType::NotSpecified;
    }

    /// @return this rank's number in the whole job set
    virtual int sim_comm_get_rank()
    {
        return rank;
    }

    /// @return the number of ranks of the network
    virtual int sim_comm_get_size() = 0;

    /// @return the current simulated time
    virtual timespec_t sim_get_time() = 0;

    /// Call @p fun_ptr with @p fun_arg after @p delta, which may be 0.
    virtual void sim_schedule(timespec_t delta, void (*fun_ptr)(void* fun_arg), void* fun_arg) = 0;

    /**
     * Send @p count bytes to rank @p dst. @p msg_handler (may be null) runs when the sender may
     * use the buffer again: at the last acknowledgement.
     * @return 0
     */
    virtual int sim_send(void* buffer,
                         uint64_t count,
                         int type,
                         int dst,
                         int tag,
                         sim_request* request,
                         void (*msg_handler)(void* fun_arg),
                         void* fun_arg) = 0;

    /**
     * Receive @p count bytes from rank @p src. @p msg_handler (may be null) runs when the last of
     * them has been delivered here.
     * @return 0
     */
    virtual int sim_recv(void* buffer,
                         uint64_t count,
                         int type,
                         int src,
                         int tag,
                         sim_request* request,
                         void (*msg_handler)(void* fun_arg),
                         void* fun_arg) = 0;

    /// This rank has nothing more to do. @return 0
    virtual int sim_notify_finished()
    {
        return 0;
    }

    /// @return bandwidth of a logical dimension in GB/s (10^9), or -1 if the network does not know
    virtual double get_BW_at_dimension(int dim)
    {
        return -1;
    }

    int rank; ///< as in ASTRA-sim
};

/// ASTRA-sim's network API on a network of this project: packets, flows, formulas, real messages.
class ASTRASimNetwork : public AstraNetworkAPI
{
  public:
    /// @param network a rank's; borrowed @param type result of get_backend_type()
    explicit ASTRASimNetwork(RankNetwork& network, BackendType type = BackendType::NS3);

    BackendType get_backend_type() override;
    int sim_comm_get_size() override;
    timespec_t sim_get_time() override;
    void sim_schedule(timespec_t delta, void (*fun_ptr)(void* fun_arg), void* fun_arg) override;
    int sim_send(void* buffer,
                 uint64_t count,
                 int type,
                 int dst,
                 int tag,
                 sim_request* request,
                 void (*msg_handler)(void* fun_arg),
                 void* fun_arg) override;
    int sim_recv(void* buffer,
                 uint64_t count,
                 int type,
                 int src,
                 int tag,
                 sim_request* request,
                 void (*msg_handler)(void* fun_arg),
                 void* fun_arg) override;
    int sim_notify_finished() override;

  private:
    RankNetwork& m_network;
    BackendType m_type;
};

} // namespace AstraSim

#endif /* ASTRA_NETWORK_API_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-network-api.h"

#include "ns3/clock-range.h"

namespace AstraSim
{

ASTRASimNetwork::ASTRASimNetwork(RankNetwork& network, BackendType type)
    : AstraNetworkAPI(network.GetRank()),
      m_network(network),
      m_type(type)
{
}

AstraNetworkAPI::BackendType
ASTRASimNetwork::get_backend_type()
{
    return m_type;
}

int
ASTRASimNetwork::sim_comm_get_size()
{
    return m_network.GetSize();
}

timespec_t
ASTRASimNetwork::sim_get_time()
{
    return {NS, static_cast<double>(m_network.Now()) / 1000.0};
}

void
ASTRASimNetwork::sim_schedule(timespec_t delta, void (*fun_ptr)(void* fun_arg), void* fun_arg)
{
    static constexpr double PS_PER_UNIT[] = {1e12, 1e9, 1e6, 1e3, 1e-3};
    m_network.Schedule(ns3::RoundToPs(delta.time_val * PS_PER_UNIT[delta.time_res]),
                       fun_ptr,
                       fun_arg);
}

int
ASTRASimNetwork::sim_send(void* buffer,
                          uint64_t count,
                          int,
                          int dst,
                          int tag,
                          sim_request*,
                          void (*msg_handler)(void* fun_arg),
                          void* fun_arg)
{
    m_network.Send({.dst = dst,
                    .tag = tag,
                    .bytes = count,
                    .handler = msg_handler,
                    .arg = fun_arg,
                    .buffer = buffer});
    return 0;
}

int
ASTRASimNetwork::sim_recv(void* buffer,
                          uint64_t count,
                          int,
                          int src,
                          int tag,
                          sim_request*,
                          void (*msg_handler)(void* fun_arg),
                          void* fun_arg)
{
    m_network.Receive({.src = src,
                       .tag = tag,
                       .bytes = count,
                       .handler = msg_handler,
                       .arg = fun_arg,
                       .buffer = buffer});
    return 0;
}

int
ASTRASimNetwork::sim_notify_finished()
{
    m_network.NotifyFinished();
    return 0;
}

} // namespace AstraSim

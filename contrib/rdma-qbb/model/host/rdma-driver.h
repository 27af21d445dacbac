/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_DRIVER_H
#define RDMA_DRIVER_H

#include "rdma-hw.h"

#include "ns3/object.h"
#include "ns3/traced-callback.h"

#include <cstdint>

namespace ns3
{

/// Options of a connection.
struct RdmaConnectionOptions
{
    uint8_t priority{3};       ///< priority group, 1..7
    uint16_t sport{0};         ///< UDP source port; 0: the next free one of the pair of hosts
    uint16_t dport{100};       ///< destination port, for records
    int32_t channel{-1};       ///< spreads connections over NICs in order; below 0: by hash
    uint64_t rateCapBps{0};    ///< upper bound of the rate in bit/s; 0 for the line rate
    bool closeWhenDone{false}; ///< end when all that was posted is acknowledged
};

/// The path to another host, as a driver needs it.
struct RdmaPath
{
    RdmaHw* peer{nullptr};   ///< the other host
    uint16_t nic{0};         ///< NIC port to send from
    uint16_t sport{0};       ///< UDP source port
    bool nvlink{false};      ///< stays in the server
    int64_t baseRttPs{0};    ///< of a full frame and its ACK on the idle path
    uint64_t bdpBytes{0};    ///< bandwidth-delay product of the idle path
    uint64_t windowBytes{0}; ///< bytes in flight that fill it while nothing queues
    int64_t spreadPs{0};     ///< most that a frame may be overtaken by on idle paths
    bool droppable{false};   ///< switches may lack room for its frames: no PFC
    int64_t drainPs{0};      ///< in which a full buffer drains into its slowest link
};

/// Answers questions about paths; the builder of the fabric implements it.
class RdmaPathPlanner
{
  public:
    virtual ~RdmaPathPlanner() = default;

    /// @return the path of a new connection; peer is null if there is none
    virtual RdmaPath PlanPath(uint32_t src, uint32_t dst, const RdmaConnectionOptions& options) = 0;
};

/**
 * @ingroup rdma-qbb
 * @brief A host's way to its RDMA engine: connections by host number, as verbs and a connection
 * manager give them.
 *
 * Aggregated to the host's Node, so that applications find it.
 */
class RdmaDriver : public Object
{
  public:
    static TypeId GetTypeId();

    RdmaDriver();
    ~RdmaDriver() override;

    /// @param hw the engine
    void Install(Ptr<RdmaHw> hw);

    /// @param planner finds paths; outlives this object's use
    void SetPathPlanner(RdmaPathPlanner* planner);

    /// @return the engine
    RdmaHw& GetHw() const
    {
        return *m_hw;
    }

    /// @return the engine
    Ptr<RdmaHw> GetRdmaHw() const
    {
        return m_hw;
    }

    /// Set up a connection. @return its sending side, or null if no path leads to @p dst; then
    /// "RoutesChanged" says when to try again
    RdmaQueuePair* Connect(uint32_t dst, const RdmaConnectionOptions& options);

    /// The planner knows other paths than before.
    void OnRoutesChanged()
    {
        m_routesChanged();
    }

  protected:
    void DoDispose() override;

  private:
    Ptr<RdmaHw> m_hw;
    RdmaPathPlanner* m_planner{nullptr};
    bool m_hasWindow{true};
    bool m_variableWindow{true};
    bool m_rateBound{true};
    TracedCallback<> m_routesChanged;
};

} // namespace ns3

#endif /* RDMA_DRIVER_H */

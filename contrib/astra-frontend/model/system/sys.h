/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SYS_H
#define SYS_H

#include "collective-ledger.h"
#include "collectives/model/native/native-memory-bus.h"
#include "run-observer.h"
#include "scheduler-unit.h"
#include "stream-baseline.h"
#include "system-config.h"

#include "ns3/rank-network.h"

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace AstraSim
{

/// Objects that all ranks of a job share; everything is borrowed.
struct JobContext
{
    const SystemConfig* config;
    const LogicalTopology* topology;
    const Workload* workload;
    CollectivePlanner* planner;
    CollectiveLedger* ledger;
    RunObserver* observer;
    const std::vector<int>* ranks; ///< the network's rank of each rank of the job
    bool isOnlyJob;                ///< of the network
};

/**
 * @ingroup astra-frontend
 * @brief The system layer of one rank: its streams, queues and clock.
 *
 * A collective is cut into chunks; each is a stream that goes from phase to phase, waiting in each
 * phase's queue (active_Streams) for its turn in the order of the scheduling policy. Names of
 * streams' methods are those of ASTRA-sim.
 *
 * A workload asks for collectives, messages and delays; it is told of their ends from the event
 * loop, never from inside the asking.
 */
class Sys
{
  public:
    /**
     * @param context of the job; must outlive the object
     * @param jobRank number in the job
     * @param network the rank's network
     */
    Sys(const JobContext& context, uint32_t jobRank, RankNetwork& network);
    ~Sys();
    Sys(const Sys&) = delete;
    Sys& operator=(const Sys&) = delete;

    /// @return the simulated time in ps
    TimePs Now() const
    {
        return m_network.Now();
    }

    /// Call @p handler with @p arg after @p delay ps.
    void Schedule(TimePs delay, MessageHandler handler, void* arg)
    {
        m_network.Schedule(delay, handler, arg);
    }

    /**
     * GPUs of one kind differ, as chips and their cooling do, and each keeps its speed. A kernel's
     * time on a GPU is the median GPU's times exp(SystemConfig::gpuSpread * z), where z is a
     * standard normal draw of the rank, by SystemConfig::seed.
     * @param duration of kernels on the median GPU
     * @return their time on this rank's
     */
    TimePs GpuTime(TimePs duration) const;

    /**
     * Refuse a time beyond the end of the clock.
     * @param delay from now @param what the part of the workload with this time: a layer, an
     * operation
     * @throw ns3::InputError naming the workload
     */
    void CheckDelay(TimePs delay, std::string_view what) const;

    /**
     * Take part in a collective; never blocks.
     * @param group the communicator, of which this rank is a member and which outlives the job
     * @param request the collective
     * @param position where in the workload
     * @param explicitPriority with EXPLICIT scheduling: the larger goes first
     * @param done called from the event loop when this rank's part is over, with the collective's
     * CollectiveRecord::key, or nothing for a group of one rank
     * @return the collective's id; 0 for a group of one rank, which has nothing to do
     */
    uint64_t generate_collective(const CommGroup& group,
                                 const CollectiveRequest& request,
                                 const WorkloadPosition& position,
                                 int explicitPriority,
                                 CollectiveDone done);

    /**
     * @return whether all ranks of the job compute at one speed, no other job uses the network, and
     * no observer needs a record of each collective: what ranks do in step may then be told once
     * (CollectiveLedger::WorkedInStep)
     */
    bool MayWorkInStep() const;

    /// Send @p bytes to network rank @p dst. @param tag matches the receive's @param done may be
    /// empty @param purpose see traffic-purpose.h; each has its connection
    void SendMessage(int dst,
                     uint64_t bytes,
                     uint32_t tag,
                     const WorkloadPosition& position,
                     std::function<void()> done,
                     uint16_t purpose = 0);

    /// Receive @p bytes from network rank @p src. @param done gets the time at which it was sent
    void ReceiveMessage(int src, uint64_t bytes, uint32_t tag, std::function<void(TimePs)> done);

    /// @return a stream's place in the order: the larger goes first
    int64_t get_priority(int explicitPriority);

    /// Put @p stream in @p queue: behind those that run and those of at least its priority.
    static void insert_stream(std::list<StreamBaseline*>& queue, StreamBaseline* stream);

    /**
     * Move @p stream on. Three cases: no phase is left and the stream ends; the next phase has
     * nothing to do on this rank and is passed over; else it queues for the next phase.
     */
    void proceed_to_next_vnet_baseline(StreamBaseline* stream);

    /// The algorithm of @p stream's phase has ended.
    void notify_phase_finished(StreamBaseline& stream);

    const std::vector<StreamQueue>& get_active_Streams() const
    {
        return m_scheduler.get_active_Streams();
    }

    /// @return streams that have not ended
    uint32_t get_total_running_streams() const
    {
        return m_streamCount;
    }

    /// @return a line per stream and message this rank waits for
    std::vector<std::string> DescribeWaits() const;

    uint32_t get_job_rank() const
    {
        return m_jobRank;
    }

    int get_rank() const
    {
        return (*m_context.ranks)[m_jobRank];
    }

    /// @return this rank's place in @p group
    uint32_t get_index_in_group(const CommGroup& group);

    RankNetwork& get_network()
    {
        return m_network;
    }

    CollectiveLedger& get_ledger()
    {
        return *m_context.ledger;
    }

    const LogicalTopology& get_topology() const
    {
        return *m_context.topology;
    }

    const SystemConfig& get_config() const
    {
        return *m_context.config;
    }

    RunObserver& get_observer()
    {
        return *m_context.observer;
    }

    /// The rank has ended a pass of its workload. @param isLast whether it has no further one
    void FinishPass(uint32_t pass, bool isLast);

    const Workload& get_workload() const
    {
        return *m_context.workload;
    }

    NativeMemoryBus& get_memory_bus()
    {
        return m_memoryBus;
    }

  private:
    /// This rank's part in a group.
    struct Membership
    {
        uint32_t group;
        uint32_t index;    ///< its place in the group
        uint32_t sequence; ///< collectives begun
    };

    struct Message
    {
        Sys* sys;
        int peer;
        int tag;
        uint64_t bytes;
        bool receives;
        std::function<void()> sent;
        std::function<void(TimePs)> received;
        std::list<Message>::iterator self;
    };

    Membership& MembershipIn(const CommGroup& group);
    static void EndAlone(void* done);
    static void MessageSent(void* message);
    static void MessageReceived(void* message);
    /// Start the algorithm of a stream's phase; it is its turn.
    void StartPhase(StreamBaseline& stream);
    void EndStream(StreamBaseline* stream);

    const JobContext& m_context;
    RankNetwork& m_network;
    uint32_t m_jobRank;
    double m_slowness; ///< time of a kernel on this GPU over that on the median one
    uint32_t m_streamCount{0};
    int64_t m_priorityCounter{0};
    NativeMemoryBus m_memoryBus;
    SchedulerUnit m_scheduler;
    std::vector<Membership> m_memberships;
    std::list<Message> m_messages;
};

} // namespace AstraSim

#endif /* SYS_H */

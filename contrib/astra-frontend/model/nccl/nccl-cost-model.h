/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NCCL_COST_MODEL_H
#define NCCL_COST_MODEL_H

#include "astra-frontend/model/gpu/machine-model.h"
#include "nccl-options.h"
#include "nccl-plan.h"
#include "nccl-tuning.h"
#include "rccl-tuning.h"

#include "ns3/collective-algorithm.h"
#include "ns3/collective-types.h"
#include "ns3/flow-graph.h"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief NCCL's cost model: expected time of each algorithm and protocol, and the choice.
 *
 * Time = latency + bytes / algorithm bandwidth, the smallest of the enabled wins; channels shrink
 * with the size after the choice. Formulas: NCCL 2.30 src/graph/tuning.cc (ncclTopoTuneModel),
 * enqueue.cc (topoGetAlgoInfo); number and speed of channels: src/graph/search.cc and connect.cc;
 * figures: NcclTuning.
 */
class NcclCostModel
{
  public:
    static constexpr uint32_t MAX_NVLS_HEADS = 32; ///< of a node (NCCL_MAX_NVLS_ARITY)

    NcclCostModel(const MachineModel& machine, const NcclOptions& options)
        : m_machine(machine),
          m_options(options),
          m_tuning(NcclTuning::Of(options.release)),
          m_hardware(NcclTuning::Of(NcclRelease::V2_30)),
          m_rccl(IsAmd(machine.gpu.generation)
                     ? &RcclTuning::Of(machine.gpu.generation, options.release, 2)
                     : nullptr)
    {
    }

    /**
     * @return the plan NCCL would take for @p op over @p bytes
     * @throw ns3::InputError if the user's algorithms and protocols leave none
     */
    NcclPlan Choose(CollectiveOp op, const GroupShape& shape, GroupKind kind, uint64_t bytes) const;

    /// @return the same of those that NCCL_ALGO and NCCL_PROTO leave, if any
    std::optional<NcclPlan> ChooseAllowed(CollectiveOp op,
                                          const GroupShape& shape,
                                          uint64_t bytes) const;

    /// @return the plan that a row of the tuner chooses, if one does
    std::optional<NcclPlan> ChooseByTuner(CollectiveOp op,
                                          const GroupShape& shape,
                                          uint64_t bytes) const;

    /// @return the plan of one algorithm and protocol
    NcclPlan Evaluate(NcclAlgorithm algorithm,
                      NcclProtocol protocol,
                      CollectiveOp op,
                      const GroupShape& shape,
                      uint64_t bytes) const;

    /// @return whether an algorithm can carry out @p op for such a group with such a protocol
    bool IsPossible(NcclAlgorithm algorithm,
                    NcclProtocol protocol,
                    CollectiveOp op,
                    const GroupShape& shape) const;

    /// @return whether the machine's NVSwitches may reduce
    bool HasNvls() const
    {
        return m_machine.nvswitchesPerServer > 0 && m_machine.switchesJoinServers &&
               !m_machine.gpu.meshed && !m_rccl &&
               m_machine.gpu.generation != GpuGeneration::Ampere;
    }

    /// @return the figures by which RCCL chooses; null on GPUs that are not AMD's
    const RcclTuning* GetRccl() const
    {
        return m_rccl;
    }

    /// @return the plan of sends and receives between pairs. @param bytes of the pair that has most
    NcclPlan EvaluatePairs(CollectiveOp op, const GroupShape& shape, uint64_t bytes) const;

    /// @return channels that sends and receives between pairs have together
    uint32_t GetPairChannels(const GroupShape& shape) const;

    /// @return how many of them a pair has at most
    uint32_t GetChannelsPerPair(const GroupShape& shape) const;

    // The plans of NCCL's own algorithms.
    NcclPlan EvaluateRing(NcclProtocol protocol,
                          CollectiveOp op,
                          const GroupShape& shape,
                          uint64_t bytes) const;
    NcclPlan EvaluateTree(NcclProtocol protocol, const GroupShape& shape, uint64_t bytes) const;
    NcclPlan EvaluatePat(const GroupShape& shape, uint64_t bytes) const;
    NcclPlan EvaluateAllPairs(NcclProtocol protocol, const GroupShape& shape, uint64_t bytes) const;
    NcclPlan EvaluateNvls(NcclAlgorithm algorithm,
                          CollectiveOp op,
                          const GroupShape& shape,
                          uint64_t bytes) const;
    NcclPlan EvaluateCollNet(NcclAlgorithm algorithm,
                             const GroupShape& shape,
                             uint64_t bytes) const;

    /// @return whether NVSwitches of every node may reduce
    bool HasNvls(const GroupShape& shape) const;

    const MachineModel& GetMachine() const
    {
        return m_machine;
    }

    const NcclOptions& GetOptions() const
    {
        return m_options;
    }

    /// @return the figures of the user's release
    const NcclTuning& GetTuning() const
    {
        return m_tuning;
    }

    /// @return what a thread block of an algorithm beside NCCL's takes, by protocol
    std::array<CollectiveTask::Block, NCCL_PROTOCOLS> BlocksOf(const GroupShape& shape) const;

    /// @return channels a communicator of this shape has
    uint32_t GetChannels(NcclAlgorithm algorithm, const GroupShape& shape) const;

  private:
    /// @return NICs of a GPU that NCCL sees
    uint32_t SeenNics() const
    {
        return m_options.networkKind.groupsNics ? 1 : m_machine.nicsPerGpu;
    }

    /// @return channels that rings and trees have at most
    uint32_t MostChannels() const
    {
        return m_rccl ? 128 : 32;
    }

    /// Result of NCCL's search of the topology for an algorithm in one node.
    struct Search
    {
        uint32_t channels{1}; ///< before they are doubled; of NVLS: heads
        double intraGBps{0};  ///< of a channel within a node
        double interGBps{0};  ///< of a channel between nodes

        /// @return GB/s of all channels together
        double Bandwidth(uint32_t nodes) const
        {
            return channels * (nodes <= 2 ? intraGBps : interGBps);
        }
    };

    /// @return channels that rings and trees of a group have
    uint32_t CommonChannels(const GroupShape& shape) const;
    /// @return whether rings leave a node by links between its CPUs
    bool RingsReturnOverCpus(const GroupShape& shape) const;
    /// @return GPUs of a node with NICs of their own
    static uint32_t NicUsers(const GroupShape& shape);
    /// @return GB/s that links carry of each of so many channels between nodes
    double LimitBetweenNodes(const GroupShape& shape, bool closes, uint32_t channels) const;
    /// @return GB/s of a channel between nodes whose links carry @p limit
    double SpeedBetweenNodes(double limit) const;
    /// @return so many channels between nodes, at most, and the speed of each
    Search ChannelsBetweenNodes(const GroupShape& shape, bool closes, uint32_t channels) const;
    /// @return the channels between nodes that carry the most
    Search BestChannelsBetweenNodes(const GroupShape& shape, bool closes) const;
    /// @param closes whether a channel comes back to where it starts: a ring, not a tree
    Search SearchChannels(const GroupShape& shape, bool closes) const;
    /// @return GB/s of a tree's channel within a node
    double RaiseForTrees(double interGBps, double nvlinkGBps) const;
    Search SearchWithinNode(const GroupShape& shape) const;
    /// @return GB/s of a GPU's links to the others of its node that are in the group
    double NvlinkGBps(const GroupShape& shape) const;
    /// Set the time that RCCL expects of a ring, or of a tree
    void PredictAsRccl(NcclPlan& plan,
                       CollectiveOp op,
                       const GroupShape& shape,
                       uint64_t bytes) const;
    Search SearchNvls(const GroupShape& shape) const;

    // Bandwidths in GB/s that all channels have together, by the figures of a release.
    double RingBusGBps(const NcclTuning& tuning,
                       NcclProtocol protocol,
                       CollectiveOp op,
                       uint32_t nodes,
                       const Search& search) const;

    /// @return how much more of a GPU's NVLinks channels that do not close leave to each
    /// @param closes see SearchChannels()
    double PassingOf(const GroupShape& shape, bool closes) const;
    /// @return GB/s of data that a block moves at most, whatever the links would take
    double BlockGBps(NcclProtocol protocol, const GroupShape& shape) const;
    /// @return GB/s of data that a channel's block moves over NVLink in a group of this shape
    /// @param passing see PassingOf()
    double CopyGBps(NcclProtocol protocol,
                    CollectiveOp op,
                    const GroupShape& shape,
                    double passing = 1) const;
    /// @return GB/s of LL on the bus at most
    double LlMaxGBps(const NcclTuning& tuning, uint32_t nodes) const;
    /// @return what a step of LL takes within a node
    double LlStepUs() const;
    /// @return what reductions and multicasts reach of a GPU's NVLinks
    double UsableNvlinkGBps() const;
    /// @return whether the network and the path to it may carry a protocol between nodes
    bool MayCross(NcclProtocol protocol, CollectiveOp op) const;
    /// @return whether NCCL's own choice takes a protocol that may cross for so many bytes, too
    bool SuitsNetwork(NcclProtocol protocol,
                      CollectiveOp op,
                      const GroupShape& shape,
                      uint64_t bytes) const;
    /// @return whether a ring between nodes has Simple where NCCL's estimates would have LL128,
    /// since Simple's estimate is below LL's; measured on Blackwell
    bool SimpleFollowsLl(CollectiveOp op, const GroupShape& shape, uint64_t bytes) const;
    /// @return bytes of a step of sends and receives between nodes, where the user gives none
    uint64_t PairNetChunk(const GroupShape& shape) const;
    /// @return what NCCL takes posting a message between nodes to take
    double NetOverheadUs() const;
    /// @return what NCCL takes a step between nodes to take
    double EstimatedInterUs(NcclProtocol protocol, double ncclUs) const;
    /// @return what a step between nodes takes besides the links' delay
    TimePs InterLatency(double ncclUs) const;
    /// @return GB/s at which a GPU's data may go through the NVSwitches that reduce
    double NvlsLinkGBps(const GroupShape& shape) const;
    double TreeBusGBps(const NcclTuning& tuning,
                       NcclProtocol protocol,
                       const GroupShape& shape) const;
    double NvlsAlgGBps(const NcclTuning& tuning,
                       NcclAlgorithm algorithm,
                       CollectiveOp op,
                       const GroupShape& shape) const;

    /// NCCL's settings of NVLS-Tree between Blackwell nodes.
    struct NvlsTuning
    {
        uint32_t channels{0};
        uint64_t chunk{0}; ///< of a channel, at most
    };

    NvlsTuning TuneNvls(const GroupShape& shape) const;
    uint32_t ChannelsForSize(uint32_t channels,
                             NcclProtocol protocol,
                             uint32_t ranks,
                             uint64_t bytes) const;
    /// @return what messages between nodes take besides, by their size
    SlowStarts GetSlowStarts() const;
    /// @return what an algorithm's kernels take
    NcclTuning::Latencies KernelLatencies(NcclAlgorithm algorithm) const;
    /// @return a plan with an algorithm's latencies
    NcclPlan StartPlan(NcclAlgorithm algorithm, NcclProtocol protocol) const;
    /// Set the expected time. @param latencyUs in all @param algGBps of all channels
    static void Predict(NcclPlan& plan, double latencyUs, double algGBps, uint64_t bytes);
    /// @return the best plan of the algorithms that @p allows, if there is one
    std::optional<NcclPlan> ChooseAmong(CollectiveOp op,
                                        const GroupShape& shape,
                                        uint64_t bytes,
                                        const std::function<bool(NcclAlgorithm)>& allows) const;
    NcclPlan ChooseByRules(CollectiveOp op,
                           const GroupShape& shape,
                           GroupKind kind,
                           uint64_t bytes) const;

    const MachineModel& m_machine;
    const NcclOptions& m_options;
    const NcclTuning& m_tuning;
    /// The hardware's abilities do not depend on the release: the newest knows them best.
    const NcclTuning& m_hardware;
    const RcclTuning* m_rccl; ///< between nodes; null on GPUs that are not AMD's
};

} // namespace AstraSim

#endif /* NCCL_COST_MODEL_H */

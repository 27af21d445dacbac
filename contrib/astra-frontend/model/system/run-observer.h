/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RUN_OBSERVER_H
#define RUN_OBSERVER_H

#include "ns3/collective-implementation.h"
#include "ns3/collective-types.h"
#include "ns3/rank-network.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

namespace AstraSim
{

/// Phases of a layer: the three groups of columns of a SimAI workload.
enum class TrainingPhase : uint8_t
{
    Forward,
    InputGradient,
    WeightGradient,
};

/// @return "fwd", "ig" or "wg"
const char* ToString(TrainingPhase phase);

/// Place in the workload where something happens.
struct WorkloadPosition
{
    uint32_t layer{0}; ///< index of Workload::GetLayerName()
    uint32_t pass{0};  ///< from 0
    TrainingPhase phase{TrainingPhase::Forward};
};

/// A collective of one group, all its ranks together.
struct CollectiveRecord
{
    uint64_t id; ///< from 1, in the order of first starts
    std::string_view layer;
    WorkloadPosition position;
    const CommGroup* group;
    CollectiveOp op;
    uint64_t bytes;
    const CollectiveChoice* choice; ///< algorithm, protocol, channels, flows
    TimePs start;                   ///< the first rank's start
    TimePs end;                     ///< the last rank's end; 0 while it runs
    TimePs lastStart;               ///< the last rank's start; 0 while ranks are missing
    uint64_t key{0};                ///< MessageInfo::collectiveKey, the same in every part of a job
    bool isMessage{false}; ///< a message between two ranks: has no key, and one record, at its end
    TimePs lastJoin{0};    ///< when the last rank reached it; its turn may come later
    TimePs rootJoin{0};    ///< when the root did, where the operation has one
    uint32_t members{0};   ///< ranks of the group that are simulated
};

/// A rank that computes.
struct ComputeRecord
{
    int rank; ///< of the network
    std::string_view layer;
    WorkloadPosition position;
    TimePs start;
    TimePs end;
};

/// The CollectiveRecord::key of a collective, or nothing.
using CollectiveKey = std::optional<uint64_t>;

/// Called when a rank's part of a collective is over.
using CollectiveDone = std::function<void(CollectiveKey key)>;

/// Why a rank could not go on.
enum class WaitReason : uint8_t
{
    Collective, ///< for a collective that all ranks have reached, or a message that is under way
    OtherRanks, ///< for others to reach the point where they send or take part (a bubble)
};

/// A time in which a rank did nothing but wait.
struct WaitRecord
{
    int rank; ///< of the network
    std::string_view layer;
    WorkloadPosition position;
    GroupKind group;
    WaitReason reason;
    TimePs start;
    TimePs end;
};

/// A collective that a rank waited for.
struct AwaitedCollective
{
    uint64_t key; ///< CollectiveRecord::key
    TimePs end;   ///< of the rank's part
};

/// A time in which a rank did nothing but wait, before its parts are told apart (WaitParts): a rank
/// does not know when others reach a collective.
struct AwaitRecord
{
    int rank; ///< of the network
    std::string_view layer;
    WorkloadPosition position; ///< of the communication that ended last, as are layer and group
    GroupKind group;
    TimePs start;
    TimePs end;
    TimePs sent{0}; ///< when the last of the messages that it waited for had left
    std::span<const AwaitedCollective> collectives{}; ///< that it waited for at once
};

/// Repeated work of ranks in step: they computed, and took part in collectives, at the same times.
struct InStepRecord
{
    std::span<const int> ranks; ///< of the network
    std::string_view layer;
    WorkloadPosition position;
    TimePs compute{0};               ///< of each rank, in all
    const CommGroup* group{nullptr}; ///< of these ranks; null without collectives
    CollectiveOp op{CollectiveOp::None};
    uint64_t bytes{0};
    const CollectiveChoice* choice{nullptr};
    uint32_t collectives{0}; ///< one after the other, all alike
    TimePs duration{0};      ///< of each, on each rank
    TimePs end{0};           ///< of the last
};

/// One phase of one stream (chunk) on one rank.
struct StreamPhaseRecord
{
    int rank; ///< of the network
    uint64_t collective;
    std::string_view layer;
    CollectiveOp op; ///< of this phase
    uint32_t chunk;
    uint32_t phase;
    int queue;
    uint64_t bytes;
    TimePs start;
    TimePs end;
};

/// One end of a message between ranks of which this process carries out only one.
struct MessageEndRecord
{
    int src; ///< of the network
    int dst; ///< of the network
    int tag; ///< messages of one (src, dst, tag) arrive in the order in which they left
    uint64_t bytes;
    WorkloadPosition position; ///< at the sender only
    TimePs time;               ///< when it left, or arrived
    uint16_t purpose{0};       ///< at the sender only; see traffic-purpose.h
};

/// A message of one rank, from its call to the last acknowledgement.
struct FlowRecord
{
    /// The destination of an operation that switches carry out.
    static constexpr int IN_NETWORK = -1;

    int src; ///< of the network
    int dst; ///< of the network, or IN_NETWORK
    uint64_t bytes;
    uint32_t channel{0};
    uint64_t collective{0}; ///< 0 for a message of its own
    TimePs start;
    TimePs end;
};

/**
 * @ingroup astra-frontend
 * @brief Receives a record of each event of a job, as it happens; writers of result files derive
 * from it.
 *
 * Records and the objects that they point to are valid during the call only. All functions do
 * nothing by default.
 */
class RunObserver
{
  public:
    virtual ~RunObserver() = default;

    virtual void CollectiveStarted(const CollectiveRecord& record)
    {
    }

    virtual void CollectiveEnded(const CollectiveRecord& record)
    {
    }

    /// @return whether it needs records of each collective, computation and wait, and can do
    /// without WorkedInStep()
    virtual bool NeedsEach() const
    {
        return true;
    }

    /// Ranks have worked in step; there are no records of their single collectives, computations
    /// and waits. Only if no observer of the job needs each.
    virtual void WorkedInStep(const InStepRecord& record)
    {
    }

    virtual void StreamPhaseEnded(const StreamPhaseRecord& record)
    {
    }

    /// Only of ranks with an ObservedNetwork.
    virtual void FlowEnded(const FlowRecord& record)
    {
    }

    /// A message has left for a rank that another process carries out.
    virtual void MessageLeft(const MessageEndRecord& record)
    {
    }

    /// A message has arrived from a rank that another process carries out.
    virtual void MessageCame(const MessageEndRecord& record)
    {
    }

    virtual void ComputeEnded(const ComputeRecord& record)
    {
    }

    /// A part of a wait, from WaitParts.
    virtual void WaitEnded(const WaitRecord& record)
    {
    }

    /// A whole wait, for WaitParts, which divides it and calls WaitEnded() for each part.
    virtual void AwaitEnded(const AwaitRecord& record)
    {
    }

    /// @p rank has done everything of @p position's phase of its layer (a non-blocking collective
    /// may still run)
    virtual void LayerFinished(int rank, const WorkloadPosition& position, TimePs now)
    {
    }

    virtual void PassFinished(int rank, uint32_t pass, TimePs now)
    {
    }

    /// @p rank has nothing more to do
    virtual void RankFinished(int rank, TimePs now)
    {
    }

    /// The tensors of the nodes that run on @p rank now hold @p bytes (with track-local-mem).
    virtual void LocalMemoryChanged(int rank, uint64_t bytes, TimePs now)
    {
    }

    /// A result of the workload's own, such as a request's transfer: one line of a table of that
    /// name ("requests" becomes requests.csv).
    virtual void WorkloadResult(std::string_view table, std::string_view line)
    {
    }
};

} // namespace AstraSim

#endif /* RUN_OBSERVER_H */

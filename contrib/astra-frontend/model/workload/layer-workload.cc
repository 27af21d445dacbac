/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "layer-workload.h"

#include "astra-frontend/model/system/rank-waits.h"
#include "astra-frontend/model/system/sys.h"
#include "astra-frontend/model/system/workload.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace AstraSim
{

// Bind() compiles one program for each pipeline stage; all ranks of the stage share it. Run() does
// the steps of a rank's program until one takes time. The event or message that ends this step
// calls Resume(), which goes on with the next. A collective that is issued without a wait stands
// in m_issued until it is over, and after a weight gradient until the layer's update is over, too.
// A later step waits for it (WaitForIssued), and RemoveIssued() then lets the rank go on. m_after
// has the communication that the rank has waited for since it last computed: RankWaits divides the
// waiting time among these and the communication that they followed.

/// One rank's way through the program of its pipeline stage.
class LayerRank : public RankWorkload
{
  public:
    /// @param workload borrowed @param rank of the job @param sys borrowed
    LayerRank(const LayerWorkload& workload, uint32_t rank, Sys& sys);

    void Start() override;
    bool Finished() const override;
    std::vector<std::string> DescribeWaits() const override;

  private:
    /// Present work of the rank.
    enum class State : uint8_t
    {
        Runs,
        Computes,
        WaitsForCollective, ///< of its own step
        WaitsForIssued,     ///< for one it issued before
        WaitsForMessage,
        Finished,
    };

    /// A collective that was not waited for.
    struct Issued
    {
        uint32_t layer;
        TrainingPhase phase;
        uint32_t pass;
        uint64_t id; ///< of the last of its communication
    };

    void Run();
    /// @return whether the rank can go on at once
    bool Do(const ProgramStep& step);
    void Compute(const ProgramStep& step);
    /// The step that the rank was at is done, once more.
    void EndStep();
    bool DoCollective(const ProgramStep& step, bool blocks);
    /// Carry out the step's collectives, the last of them as communication @p id.
    void Communicate(const ProgramStep& step, uint64_t id, std::function<void()> done);
    void Generate(const ProgramStep& step,
                  CollectiveOp op,
                  uint64_t id,
                  std::span<const uint64_t> after,
                  std::function<void()> done);
    /// A gradient needs no collective any more: begin the layer's update.
    void IssueUpdate(const Issued& issued);
    void EndIssued(const Issued& issued);
    /// @param updateStart when its collective was over, and its update began
    void RemoveIssued(const Issued& issued, TimePs updateStart);
    bool WaitForIssued(uint32_t layer, TrainingPhase phase);
    bool WaitForAllIssued();
    bool DoReceive(const ProgramStep& step);
    void DoSend(const ProgramStep& step);
    bool EndPass();

    void Wait(State state, const WorkloadPosition& position, GroupKind group);
    void Resume();
    static void ComputeEnded(void* rank);

    WorkloadPosition PositionOf(const ProgramStep& step) const
    {
        return {step.layer, m_pass, step.phase};
    }

    const LayerCollective& CollectiveOf(uint32_t layer, TrainingPhase phase) const;
    int PeerOf(const ProgramStep& step) const;
    uint64_t MessageBytes(const ProgramStep& step) const;
    uint32_t MessageTag(const ProgramStep& step) const;

    const LayerWorkload& m_workload;
    const std::vector<ProgramStep>& m_program;
    Sys& m_sys;
    uint32_t m_rank; ///< of the job
    uint32_t m_pass{0};
    std::size_t m_next{0}; ///< step
    uint32_t m_done{0};    ///< how often that step has been done
    State m_state{State::Runs};
    WorkloadPosition m_waitPosition;
    GroupKind m_waitGroup{GroupKind::Tp};
    TimePs m_since{0}; ///< computes
    std::vector<Issued> m_issued;
    std::map<std::pair<uint32_t, TrainingPhase>, uint64_t> m_lastIssued; ///< Issued::id
    RankWaits m_waits;
    uint64_t m_lastId{0};          ///< of communication
    std::vector<uint64_t> m_after; ///< communication that was waited for since the rank computed
};

namespace
{

std::vector<std::string>
NamesOf(const std::vector<Layer>& layers)
{
    std::vector<std::string> names;
    std::ranges::transform(layers, std::back_inserter(names), &Layer::name);
    return names;
}

} // namespace

LayerWorkload::LayerWorkload(LayerTable table,
                             const ParallelSizes& options,
                             uint32_t passes,
                             bool waits)
    : Workload({table.file, NamesOf(table.layers), table.sizes.world, passes}),
      m_table(std::move(table)),
      m_options(options),
      m_waits(waits)
{
}

void
LayerWorkload::Bind(const std::vector<int>& ranks)
{
    const ParallelSizes sizes = GroupSizes(m_table, m_options, ranks);
    m_layout = std::make_unique<RankLayout>(sizes, ranks, m_table.file);
    m_groupsAreServers = sizes.gpusPerServer > 0;
    RefuseMicroLinesOfOneRank();
    RefuseSendRecvOfMany();
    const uint32_t stages = m_layout->GetStageCount();
    for (uint32_t stage = 0; stage < stages; ++stage)
    {
        m_programs.push_back(CompileProgram(m_table, stages, stage));
        if (m_waits)
        {
            // The weight gradients' collectives, which ranks wait for, move behind the pipeline's
            // part, so that a waiting rank delays no other stage.
            auto& program = m_programs.back();
            const auto step = std::ranges::find_if(program, [](const auto& s) {
                return s.kind == ProgramStep::Kind::SendTied ||
                       s.kind == ProgramStep::Kind::WaitGradients;
            });
            std::stable_partition(program.begin(), step, [](const ProgramStep& s) {
                return s.kind != ProgramStep::Kind::IssueCollective ||
                       s.phase != TrainingPhase::WeightGradient;
            });
        }
    }
}

void
LayerWorkload::RefuseMicroLinesOfOneRank() const
{
    for (const Layer& layer : m_table.layers)
    {
        const LayerCollective& collective = layer.comm.front();
        if (!m_table.microLines || m_layout->GetSize(collective.group) > 1)
        {
            continue;
        }
        const auto size = [this](GroupKind kind) {
            return ToString(kind) + (" " + std::to_string(m_layout->GetSize(kind)));
        };
        throw ns3::InputError(m_table.file,
                              layer.line,
                              ToString(collective.group) +
                                  (" groups have one rank, with " + size(GroupKind::Tp) + ", ") +
                                  size(GroupKind::Dp) + ", " + size(GroupKind::Ep) + ", " +
                                  size(GroupKind::DpEp) + ", " + size(GroupKind::Pp),
                              "groups of two ranks or more (--tp, --ep and --pp set their sizes)");
    }
}

void
LayerWorkload::RefuseSendRecvOfMany() const
{
    for (const Layer& layer : m_table.layers)
    {
        for (const LayerCollective& collective : layer.comm)
        {
            const uint32_t ranks = m_layout->GetSize(collective.group);
            if (collective.op == CollectiveOp::SendRecv && collective.bytes > 0 && ranks > 2)
            {
                throw ns3::InputError(m_table.file,
                                      layer.line,
                                      std::string("SENDRECV on ") + ToString(collective.group) +
                                          " groups, which have " + std::to_string(ranks) + " ranks",
                                      "groups of two ranks, the first sends to the second (--tp, "
                                      "--ep and --pp set their sizes)");
            }
        }
    }
}

std::unique_ptr<RankWorkload>
LayerWorkload::CreateRank(uint32_t rank, Sys& sys)
{
    return std::make_unique<LayerRank>(*this, rank, sys);
}

uint64_t
LayerWorkload::GetCollectiveCount() const
{
    using Kind = ProgramStep::Kind;
    uint64_t count = 0;
    for (const auto& program : m_programs)
    {
        uint64_t ofStage = 0; // times ranks per stage
        for (const auto& step : program)
        {
            const auto& collective =
                m_table.layers[step.layer].comm[static_cast<std::size_t>(step.phase)];
            if (step.kind == Kind::SendActivation || step.kind == Kind::SendGradient ||
                step.kind == Kind::SendTied)
            {
                ofStage += m_layout->GetRanksPerStage();
            }
            else if ((step.kind == Kind::Collective || step.kind == Kind::IssueCollective) &&
                     collective.bytes > 0 && m_layout->GetSize(collective.group) > 1)
            {
                ofStage += uint64_t{step.times} * (collective.thenAllToAll ? 2 : 1) *
                           m_layout->GetRanksPerStage() / m_layout->GetSize(collective.group);
            }
        }
        count += ofStage;
    }
    return count * GetPassCount();
}

LayerRank::LayerRank(const LayerWorkload& workload, uint32_t rank, Sys& sys)
    : m_workload(workload),
      m_program(workload.GetProgram(workload.GetLayout().GetStage(rank))),
      m_sys(sys),
      m_rank(rank),
      m_waits(sys)
{
}

void
LayerRank::Start()
{
    Run();
}

bool
LayerRank::Finished() const
{
    return m_state == State::Finished;
}

void
LayerRank::Run()
{
    m_state = State::Runs;
    while (m_state == State::Runs)
    {
        if (m_next == m_program.size())
        {
            if (!EndPass())
            {
                return;
            }
            continue;
        }
        const ProgramStep& step = m_program[m_next];
        if (!Do(step))
        {
            return;
        }
        // A step of no time takes none for any number of repetitions: skip them.
        m_done = step.times - 1;
        EndStep();
    }
}

void
LayerRank::EndStep()
{
    const ProgramStep& step = m_program[m_next];
    if (++m_done == step.times)
    {
        ++m_next;
        m_done = 0;
    }
    if (step.endsPhase)
    {
        m_sys.get_observer().LayerFinished(m_sys.get_rank(), PositionOf(step), m_sys.Now());
    }
}

bool
LayerRank::Do(const ProgramStep& step)
{
    using Kind = ProgramStep::Kind;
    switch (step.kind)
    {
    case Kind::Compute:
        if (step.duration == 0)
        {
            return true;
        }
        Compute(step);
        return false;
    case Kind::Collective:
        return DoCollective(step, true);
    case Kind::IssueCollective:
        return DoCollective(step, false);
    case Kind::WaitCollective:
        return WaitForIssued(step.layer, step.phase);
    case Kind::SendActivation:
    case Kind::SendGradient:
    case Kind::SendTied:
        DoSend(step);
        return true;
    case Kind::ReceiveActivation:
    case Kind::ReceiveGradient:
    case Kind::ReceiveTied:
        return DoReceive(step);
    case Kind::WaitGradients:
        return WaitForAllIssued();
    }
    return true;
}

void
LayerRank::Compute(const ProgramStep& step)
{
    m_waits.GoOn(std::exchange(m_after, {}), m_sys.Now());
    m_state = State::Computes;
    m_since = m_sys.Now();
    const TimePs duration = m_sys.GpuTime(step.duration);
    m_sys.CheckDelay(duration, m_workload.GetLayerName(step.layer));
    m_sys.Schedule(duration, &LayerRank::ComputeEnded, this);
}

bool
LayerRank::DoCollective(const ProgramStep& step, bool blocks)
{
    const auto& collective = CollectiveOf(step.layer, step.phase);
    const Issued issued{step.layer, step.phase, m_pass, ++m_lastId};
    if (collective.bytes == 0 || m_workload.GetLayout().GetSize(collective.group) < 2)
    {
        if (!blocks && step.phase == TrainingPhase::WeightGradient)
        {
            IssueUpdate(issued);
        }
        return true;
    }
    const bool waits =
        !blocks && step.phase == TrainingPhase::WeightGradient && m_workload.WaitsForGradients();
    if (blocks || waits)
    {
        Wait(State::WaitsForCollective, PositionOf(step), collective.group);
        Communicate(step, issued.id, [this, waits, issued]() {
            m_after = {issued.id};
            if (waits)
            {
                IssueUpdate(issued);
            }
            Resume();
        });
        return false;
    }
    m_issued.push_back(issued);
    m_lastIssued[{issued.layer, issued.phase}] = issued.id;
    const bool isAlone = !m_waits.IsCommunicating();
    Communicate(step, issued.id, [this, issued]() { EndIssued(issued); });
    if (isAlone)
    {
        m_after.clear(); // the wait ended before this began, so later waits do not reach back to it
    }
    return true;
}

void
LayerRank::Communicate(const ProgramStep& step, uint64_t id, std::function<void()> done)
{
    const auto& collective = CollectiveOf(step.layer, step.phase);
    if (!collective.thenAllToAll)
    {
        Generate(step, collective.op, id, m_after, std::move(done));
        return;
    }
    const uint64_t first = ++m_lastId;
    Generate(step, collective.op, first, m_after, [this, &step, id, first, done]() {
        Generate(step, CollectiveOp::AllToAll, id, std::array{first}, done);
    });
}

void
LayerRank::Generate(const ProgramStep& step,
                    CollectiveOp op,
                    uint64_t id,
                    std::span<const uint64_t> after,
                    std::function<void()> done)
{
    const auto& collective = CollectiveOf(step.layer, step.phase);
    m_waits.Begin(id, PositionOf(step), collective.group, after);
    CollectiveRequest request;
    request.op = op;
    request.bytes = collective.bytes;
    // With EXPLICIT scheduling the layer that the next forward needs first goes first.
    const int priority = -static_cast<int>(step.layer);
    m_sys.generate_collective(m_workload.GetLayout().GetGroup(collective.group, m_rank),
                              request,
                              PositionOf(step),
                              priority,
                              [this, id, done = std::move(done)](CollectiveKey key) {
                                  m_waits.End(id, key);
                                  done();
                              });
}

void
LayerRank::IssueUpdate(const Issued& issued)
{
    m_issued.push_back(issued);
    EndIssued(issued);
}

void
LayerRank::EndIssued(const Issued& issued)
{
    const TimePs update = issued.phase == TrainingPhase::WeightGradient
                              ? m_sys.GpuTime(m_workload.GetTable().layers[issued.layer].update)
                              : 0;
    if (update == 0)
    {
        RemoveIssued(issued, m_sys.Now());
        return;
    }

    m_sys.CheckDelay(update, m_workload.GetLayerName(issued.layer));

    struct Update
    {
        LayerRank* rank;
        Issued issued;
        TimePs start;
    };

    m_sys.Schedule(
        update,
        [](void* argument) {
            const std::unique_ptr<Update> ended(static_cast<Update*>(argument));
            ended->rank->RemoveIssued(ended->issued, ended->start);
        },
        new Update{this, issued, m_sys.Now()});
}

void
LayerRank::RemoveIssued(const Issued& issued, TimePs updateStart)
{
    const auto found = std::ranges::find_if(m_issued, [&issued](const Issued& other) {
        return other.layer == issued.layer && other.phase == issued.phase &&
               other.pass == issued.pass;
    });
    m_issued.erase(found);
    if (m_state != State::WaitsForIssued || m_waitPosition.layer != issued.layer ||
        m_waitPosition.phase != issued.phase)
    {
        return;
    }
    const TimePs now = m_sys.Now();
    if (now > updateStart)
    {
        // The time of the update counts as computation.
        m_after.clear();
        const TimePs from = m_waits.GoOn(std::array{issued.id}, updateStart);
        m_sys.get_observer().ComputeEnded({m_sys.get_rank(),
                                           m_workload.GetLayerName(m_waitPosition.layer),
                                           m_waitPosition,
                                           from,
                                           now});
    }
    Run();
}

bool
LayerRank::WaitForIssued(uint32_t layer, TrainingPhase phase)
{
    const auto found = std::ranges::find_if(m_issued, [&](const Issued& issued) {
        return issued.layer == layer && issued.phase == phase;
    });
    if (const auto last = m_lastIssued.find({layer, phase}); last != m_lastIssued.end())
    {
        m_after.push_back(last->second); // it may have ended while the rank waited for another one
    }
    if (found == m_issued.end())
    {
        return true;
    }
    Wait(State::WaitsForIssued, {layer, found->pass, phase}, CollectiveOf(layer, phase).group);
    return false;
}

bool
LayerRank::WaitForAllIssued()
{
    for (const Issued& issued : m_issued)
    {
        m_after.push_back(issued.id);
    }
    return m_issued.empty() || WaitForIssued(m_issued.front().layer, m_issued.front().phase);
}

void
LayerRank::DoSend(const ProgramStep& step)
{
    m_sys.SendMessage(PeerOf(step), MessageBytes(step), MessageTag(step), PositionOf(step), {});
}

bool
LayerRank::DoReceive(const ProgramStep& step)
{
    Wait(State::WaitsForMessage, PositionOf(step), GroupKind::Pp);
    const uint64_t id = ++m_lastId;
    m_waits.Begin(id, PositionOf(step), GroupKind::Pp, m_after);
    m_sys.ReceiveMessage(PeerOf(step),
                         MessageBytes(step),
                         MessageTag(step),
                         [this, id](TimePs sentAt) {
                             m_waits.EndMessage(id, sentAt);
                             m_after = {id};
                             Resume();
                         });
    return false;
}

bool
LayerRank::EndPass()
{
    const bool isLast = m_pass + 1 == m_workload.GetPassCount();
    if (isLast && !WaitForAllIssued())
    {
        return false;
    }
    if (isLast)
    {
        m_waits.GoOn(m_after, m_sys.Now());
        m_state = State::Finished;
    }
    const uint32_t pass = m_pass++;
    m_next = 0;
    m_sys.FinishPass(pass, isLast);
    return !isLast;
}

void
LayerRank::Wait(State state, const WorkloadPosition& position, GroupKind group)
{
    m_state = state;
    m_waitPosition = position;
    m_waitGroup = group;
    m_waits.Idle();
}

void
LayerRank::Resume()
{
    EndStep();
    Run();
}

void
LayerRank::ComputeEnded(void* argument)
{
    auto& rank = *static_cast<LayerRank*>(argument);
    const ProgramStep& step = rank.m_program[rank.m_next];
    rank.m_sys.get_observer().ComputeEnded({rank.m_sys.get_rank(),
                                            rank.m_workload.GetLayerName(step.layer),
                                            rank.PositionOf(step),
                                            rank.m_since,
                                            rank.m_sys.Now()});
    rank.Resume();
}

const LayerCollective&
LayerRank::CollectiveOf(uint32_t layer, TrainingPhase phase) const
{
    return m_workload.GetTable().layers[layer].comm[static_cast<std::size_t>(phase)];
}

int
LayerRank::PeerOf(const ProgramStep& step) const
{
    return m_workload.GetLayout().GetGroup(GroupKind::Pp, m_rank).ranks[step.peer];
}

uint64_t
LayerRank::MessageBytes(const ProgramStep& step) const
{
    const LayerTable& table = m_workload.GetTable();
    const bool tied =
        step.kind == ProgramStep::Kind::SendTied || step.kind == ProgramStep::Kind::ReceiveTied;
    return std::max<uint64_t>(tied ? table.tiedBytes : table.pipelineBytes, 1);
}

uint32_t
LayerRank::MessageTag(const ProgramStep& step) const
{
    const bool forward = step.phase == TrainingPhase::Forward;
    const uint32_t perBatch =
        m_workload.GetLayout().GetStageCount() * std::max(1U, m_workload.GetTable().virtualStages);
    return (step.microBatch * perBatch + step.virtualStage) * 2 + (forward ? 0 : 1);
}

std::vector<std::string>
LayerRank::DescribeWaits() const
{
    const std::string where = "pass " + std::to_string(m_waitPosition.pass + 1) + ", layer " +
                              std::to_string(m_waitPosition.layer) + " (" +
                              std::string(m_workload.GetLayerName(m_waitPosition.layer)) + "), " +
                              ToString(m_waitPosition.phase);
    switch (m_state)
    {
    case State::WaitsForCollective:
        return {where + ": waits for its collective of group " + ToString(m_waitGroup)};
    case State::WaitsForIssued:
        return {where + ": waits for the collective of group " +
                std::string(ToString(m_waitGroup)) + " that it issued before"};
    case State::WaitsForMessage:
        return {where + ": waits for a message of its neighbour in the pipeline"};
    case State::Computes:
        return {"computes since " + std::to_string(m_since / 1000) + " ns"};
    case State::Runs:
    case State::Finished:
        break;
    }
    return {};
}

} // namespace AstraSim

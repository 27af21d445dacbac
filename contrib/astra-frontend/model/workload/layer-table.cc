/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "layer-table.h"

#include "astra-frontend/model/system/run-observer.h"
#include "pipeline-schedule.h"

#include "ns3/foreign-file.h"
#include "ns3/input-error.h"
#include "ns3/input-lines.h"
#include "ns3/rows.h"
#include "ns3/units.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>
#include <string_view>

namespace AstraSim
{

namespace
{

constexpr const char* SIZES = "bytes below 2^53 (8 PiB)";
constexpr std::string_view POLICY_NAMES =
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD, HYBRID_TRANSFORMER, HYBRID_DATA_MODEL, HYBRID_MODEL_DATA, "
    "HYBRID_DLRM_ENHANCED, DLRM, DATA, MODEL or MICRO";
constexpr std::string_view OP_NAMES =
    "NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL, ALLREDUCEALLTOALL, SENDRECV, BROADCAST, "
    "REDUCE, GATHER or SCATTER, with or without _TP, _DP, _EP, _DP_EP, _PP or _CP";

std::optional<ParallelismPolicy>
ParsePolicy(std::string_view word)
{
    static const std::map<std::string_view, ParallelismPolicy> POLICIES = {
        {"MICRO", ParallelismPolicy::Micro},
        {"DATA", ParallelismPolicy::Data},
        {"MODEL", ParallelismPolicy::Model},
        {"HYBRID_TRANSFORMER", ParallelismPolicy::HybridTransformer},
        {"HYBRID_TRANSFORMER_FWD_IN_BCKWD", ParallelismPolicy::HybridTransformerFwdInBckwd},
        {"HYBRID_DATA_MODEL", ParallelismPolicy::HybridDataModel},
        {"HYBRID_MODEL_DATA", ParallelismPolicy::HybridModelData},
        {"DLRM", ParallelismPolicy::Dlrm},
        {"HYBRID_DLRM", ParallelismPolicy::Dlrm},
        {"HYBRID_DLRM_ENHANCED", ParallelismPolicy::HybridDlrmEnhanced},
    };
    const auto found = POLICIES.find(word);
    return found == POLICIES.end() ? std::nullopt : std::optional(found->second);
}

std::optional<GroupKind>
ParseGroup(std::string_view word)
{
    static const std::map<std::string_view, GroupKind> GROUPS = {
        {"TP", GroupKind::Tp},
        {"DP", GroupKind::Dp},
        {"EP", GroupKind::Ep},
        {"DP_EP", GroupKind::DpEp},
        {"PP", GroupKind::Pp},
        {"CP", GroupKind::Cp},
    };
    const auto found = GROUPS.find(word);
    return found == GROUPS.end() ? std::nullopt : std::optional(found->second);
}

/// @return each schedule's name, twice: as a word, and as its value
std::vector<std::pair<std::string, std::string>>
ScheduleNames()
{
    std::vector<std::pair<std::string, std::string>> names;
    for (const auto& [name, schedule] : PipelineSchedule::All())
    {
        names.emplace_back(name, name);
    }
    return names;
}

/// Reads one file; its methods go down the grammar.
class LayerTableReader
{
  public:
    explicit LayerTableReader(ns3::InputLines& lines)
        : m_lines(lines),
          m_header(lines.Name(), HeaderRows())
    {
        m_table.file = lines.Name();
    }

    const ns3::Rows& GetHeader() const
    {
        return m_header;
    }

    LayerTable Read()
    {
        if (!m_lines.Next())
        {
            throw ns3::InputError(m_lines.Name(),
                                  0,
                                  "the workload is empty",
                                  "a parallelism policy");
        }
        if (ns3::ParseUnsigned(Field(0)))
        {
            ReadMicroLines();
            return std::move(m_table);
        }
        ReadHeader();
        ReadLayers();
        CheckCheckpoints();
        CheckStageRows();
        TakeOverlaps();
        return std::move(m_table);
    }

  private:
    std::vector<ns3::Row> HeaderRows()
    {
        const auto whole = [](auto& target, uint64_t least = 1) {
            return ns3::Whole(target, least, INT32_MAX);
        };
        const auto bytes = [](uint64_t& target) { return ns3::Parsed(target, ParseSize, SIZES); };
        LayerTable& table = m_table;
        return {
            {"model_parallel_NPU_group", whole(table.sizes.tp), "ranks of a tensor-parallel group"},
            {"ep,expert_parallel_npu_group", whole(table.sizes.ep), "size of EP groups"},
            {"etp",
             whole(table.sizes.etp),
             "tensor-parallel size of experts, if it is not that of the other layers"},
            {"pp", whole(table.sizes.pp), "pipeline stages"},
            {"cp", whole(table.sizes.cp), "size of context-parallel groups"},
            {"vpp", whole(table.virtualStages), "chunks of a pipeline stage"},
            {"ga", whole(table.gradientAccumulation), "micro-batches of an iteration"},
            {"all_gpus", whole(table.sizes.world), "ranks of the workload"},
            {"mode", ns3::Flag(table.inference), "1: inference, forward passes only"},
            {"checkpoints",
             ns3::Wholes(m_checkpoints, 0, INT32_MAX, 0),
             "``K n1 ... nK``: rows whose results recomputation begins with"},
            {"checkpoint_initiates",
             ns3::Wholes(m_initiates, 0, INT32_MAX, 0),
             "``K n1 ... nK``: rows that first compute forward again (above)"},
            {"pp_comm", bytes(table.pipelineBytes), "sent to the next stage per micro-batch"},
            {"DLRM_LAST_BOTTOM_LAYER",
             whole(table.lastBottomLayer, 0),
             "DLRM: the last layer of the bottom network; the number may stand alone"},
            {"stage_rows",
             ns3::Wholes(table.stageRows, 0, INT32_MAX),
             "``K n1 ... nK``: each pipeline stage has rows of its own, stage after stage. For "
             "each stage come ``1 + vpp`` numbers of rows: those once per pass, then those of each "
             "chunk. The rows once per pass come after the last micro-batch, the last row first, "
             "when all weight gradients are reduced: the optimizer's step, and the gathering of "
             "new weights. Without this key, all stages have the same rows"},
            {"tied_comm",
             bytes(table.tiedBytes),
             "the first and the last stage send each other so many bytes before the optimizer's "
             "step: the gradients of an embedding that both hold"},
            {"schedule",
             ns3::Word(table.schedule, ScheduleNames()),
             "order of the micro-batches' passes in a pipeline; without this key ``1f1b``, and "
             "``gpipe`` where vpp is above 1 and pp does not divide ga. With ``dualpipe``, each "
             "stage has ``1 + 2 vpp`` numbers in ``stage_rows``: the rows of its place from the "
             "nearer end of the pipeline, then those of its place from the other end"},
            {"reduce_each",
             ns3::Flag(table.reducesEach),
             "1: weight gradients are reduced after each micro-batch, not after the last (ZeRO-2 "
             "and 3)"},
            {"forward_until",
             ns3::Wholes(m_until[0], 0, INT32_MAX, 0),
             "``K r1 u1 r2 u2 ...``: the forward collective of row r runs beside later rows, until "
             "row u begins to compute forward, or its chunk ends; others are waited for at once"},
            {"input_until",
             ns3::Wholes(m_until[1], 0, INT32_MAX, 0),
             "the same of input gradients, until row u begins to compute its own; of row r itself, "
             "until its weight gradient is computed"},
        };
    }

    std::string_view Field(std::size_t index) const
    {
        return m_lines.Fields()[index];
    }

    [[noreturn]] void Fail(const std::string& what, std::string_view expected = "") const
    {
        m_lines.Fail(what, std::string(expected));
    }

    uint64_t Number(std::size_t field, const std::string& what) const
    {
        if (field >= m_lines.Fields().size())
        {
            Fail("the line ends where " + what + " should be", "a whole number");
        }
        const auto value = ns3::ParseUnsigned(Field(field));
        if (!value)
        {
            Fail("'" + std::string(Field(field)) + "' is not a valid value of " + what,
                 "a whole number");
        }
        return *value;
    }

    /// @return a size; AICB's Python writes some with a decimal point, such as 8388608.0
    static std::optional<uint64_t> ParseSize(std::string_view text)
    {
        const auto bytes = ns3::ParseWhole(text);
        return bytes && *bytes < SIZES_END ? bytes : std::nullopt;
    }

    uint64_t Bytes(std::size_t field) const
    {
        const auto bytes = ParseSize(Field(field));
        if (!bytes)
        {
            Fail("the collective's size is '" + std::string(Field(field)) + "'", SIZES);
        }
        return *bytes;
    }

    uint32_t Small(std::size_t field, const std::string& what, uint32_t least) const
    {
        const uint64_t value = Number(field, what);
        if (value < least || value > std::numeric_limits<int32_t>::max())
        {
            Fail(what + " is " + std::string(Field(field)),
                 value < least ? "a whole number of at least " + std::to_string(least)
                               : "a whole number of less than 2^31");
        }
        return static_cast<uint32_t>(value);
    }

    TimePs Nanoseconds(std::size_t field, const char* what) const
    {
        bool tooLarge = false;
        const auto time = ns3::ParseScaled(Field(field), 1000, &tooLarge);
        if (!time)
        {
            Fail("'" + std::string(Field(field)) + "' is not a valid value of " + what,
                 tooLarge ? "less than 9.2e15 ns (106 days)" : "nanoseconds, not negative");
        }
        return *time;
    }

    void ReadHeader()
    {
        const auto policy = ParsePolicy(Field(0));
        if (!policy)
        {
            Fail("'" + std::string(Field(0)) + "' is not a valid parallelism policy", POLICY_NAMES);
        }
        m_table.policy = *policy;
        m_headerLine = m_lines.Line();
        for (std::size_t field = 1; field < m_lines.Fields().size();)
        {
            field = ReadHeaderKey(field);
        }
        const bool needsTp = m_table.policy == ParallelismPolicy::HybridTransformer ||
                             m_table.policy == ParallelismPolicy::HybridTransformerFwdInBckwd ||
                             m_table.policy == ParallelismPolicy::HybridDataModel ||
                             m_table.policy == ParallelismPolicy::HybridModelData;
        if (needsTp && m_table.sizes.tp == 0)
        {
            Fail("the header does not say how many ranks share a layer",
                 "model_parallel_NPU_group: N");
        }
        if (IsDlrm() && m_table.lastBottomLayer < 0)
        {
            Fail("the header does not say where the bottom network ends",
                 "the number of its last layer after the policy");
        }
    }

    bool IsDlrm() const
    {
        return m_table.policy == ParallelismPolicy::Dlrm ||
               m_table.policy == ParallelismPolicy::HybridDlrmEnhanced;
    }

    /// @return the field after the key and its values, of which a list's number comes first
    std::size_t ReadHeaderKey(std::size_t field)
    {
        const auto& fields = m_lines.Fields();
        std::string_view key = fields[field];
        if (IsDlrm() && ns3::ParseUnsigned(key))
        {
            m_header.Read("DLRM_LAST_BOTTOM_LAYER", key, m_headerLine);
            return field + 1;
        }
        key.remove_suffix(key.ends_with(':'));
        const bool isList = m_header.Get(key, m_headerLine).value.kind == ns3::RowValue::Kind::List;
        const std::size_t begin = field + 1 + isList;
        const std::size_t count = isList ? Small(field + 1, std::string(key), 0) : 1;
        const std::size_t end = begin + count;
        if (end > fields.size())
        {
            Fail("the line ends before all values of " + std::string(key), "whole numbers");
        }
        m_header.Read(key, m_lines.RestFrom(begin, end), m_headerLine);
        return end;
    }

    void ReadLayers()
    {
        if (!m_lines.Next())
        {
            throw ns3::InputError(m_lines.Name(),
                                  m_headerLine,
                                  "the workload ends after its header",
                                  "the number of layers on the next line");
        }
        if (m_lines.Fields().size() != 1)
        {
            Fail("the second line has " + std::to_string(m_lines.Fields().size()) + " fields",
                 "the number of layers alone");
        }
        const uint32_t count = Small(0, "the number of layers", 1);
        while (m_lines.Next())
        {
            if (m_table.layers.size() == count)
            {
                Fail("there are more than the " + std::to_string(count) + " layers announced",
                     "the end of the file");
            }
            m_table.layers.push_back(ReadLayer());
        }
        if (m_table.layers.size() < count)
        {
            throw ns3::InputError(m_lines.Name(),
                                  m_lines.Line(),
                                  "the file ends after " + std::to_string(m_table.layers.size()) +
                                      " layers",
                                  std::to_string(count) + " layers");
        }
        if (m_table.lastBottomLayer >= static_cast<int>(count))
        {
            throw ns3::InputError(m_lines.Name(),
                                  m_headerLine,
                                  "the last bottom layer is " +
                                      std::to_string(m_table.lastBottomLayer),
                                  "a layer below " + std::to_string(count));
        }
    }

    Layer ReadLayer()
    {
        if (m_lines.Fields().size() != 12)
        {
            Fail("a layer with " + std::to_string(m_lines.Fields().size()) + " fields",
                 "12: name dep fwd_ns fwd_comm fwd_bytes ig_ns ig_comm ig_bytes wg_ns wg_comm "
                 "wg_bytes wg_update_ns");
        }
        Layer layer;
        layer.line = m_lines.Line();
        layer.name = Field(0);
        layer.dependency =
            Field(1) == "-1" ? -1 : static_cast<int>(Small(1, "the layer this one depends on", 0));
        static constexpr const char* COMPUTE[] = {"fwd_ns", "ig_ns", "wg_ns"};
        for (std::size_t phase = 0; phase < 3; ++phase)
        {
            layer.compute[phase] = Nanoseconds(2 + 3 * phase, COMPUTE[phase]);
            layer.comm[phase] = ReadCollective(3 + 3 * phase, static_cast<TrainingPhase>(phase));
        }
        layer.update = Nanoseconds(11, "wg_update_ns");
        return layer;
    }

    LayerCollective ReadCollective(std::size_t field, TrainingPhase phase)
    {
        LayerCollective collective = ParseCollectiveName(Field(field));
        if (!m_suffixed)
        {
            collective.group = DefaultGroup(phase);
        }
        collective.bytes = Bytes(field + 1);
        return collective;
    }

    GroupKind DefaultGroup(TrainingPhase phase) const
    {
        // DLRM's embedding tables lie on all ranks: the DP group if TP is 1.
        if (IsDlrm() || m_table.policy == ParallelismPolicy::Micro ||
            m_table.policy == ParallelismPolicy::Data)
        {
            return GroupKind::Dp;
        }
        return phase == TrainingPhase::WeightGradient ? GroupKind::Dp : GroupKind::Tp;
    }

    LayerCollective ParseCollectiveName(std::string_view name)
    {
        static const std::map<std::string_view, CollectiveOp> OPS = {
            {"NONE", CollectiveOp::None},
            {"ALLREDUCE", CollectiveOp::AllReduce},
            {"ALLGATHER", CollectiveOp::AllGather},
            {"REDUCESCATTER", CollectiveOp::ReduceScatter},
            {"ALLTOALL", CollectiveOp::AllToAll},
            {"ALLREDUCEALLTOALL", CollectiveOp::AllReduce},
            {"SENDRECV", CollectiveOp::SendRecv},
            {"BROADCAST", CollectiveOp::Broadcast},
            {"REDUCE", CollectiveOp::Reduce},
            {"GATHER", CollectiveOp::Gather},
            {"SCATTER", CollectiveOp::Scatter},
        };
        LayerCollective collective;
        const auto underscore = name.find('_');
        const auto op = OPS.find(name.substr(0, underscore));
        m_suffixed = underscore != std::string_view::npos;
        const auto group = m_suffixed ? ParseGroup(name.substr(underscore + 1)) : std::nullopt;
        if (op == OPS.end() || (m_suffixed && !group))
        {
            Fail("unknown collective '" + std::string(name) + "'", OP_NAMES);
        }
        collective.op = op->second;
        collective.thenAllToAll = op->first == "ALLREDUCEALLTOALL";
        collective.group = group.value_or(GroupKind::Tp);
        return collective;
    }

    void ReadMicroLines()
    {
        m_table.microLines = true;
        do
        {
            if (m_lines.Fields().size() != 4)
            {
                Fail("a micro line with " + std::to_string(m_lines.Fields().size()) + " fields",
                     "<passes> <OP> <bytes> <GROUP>");
            }
            Layer layer;
            layer.line = m_lines.Line();
            layer.repeat = Small(0, "the number of passes", 1);
            LayerCollective collective = ParseCollectiveName(Field(1));
            if (collective.op == CollectiveOp::None || m_suffixed)
            {
                Fail("'" + std::string(Field(1)) + "' is not a valid collective of a micro line",
                     "ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL, SENDRECV, ...");
            }
            collective.bytes = Bytes(2);
            const auto group = ParseGroup(Field(3));
            if (!group)
            {
                Fail("unknown group '" + std::string(Field(3)) + "'",
                     "TP, DP, EP, DP_EP, PP or CP");
            }
            collective.group = *group;
            layer.name =
                std::string(Field(1)) + "_" + std::string(Field(3)) + "_" + std::string(Field(2));
            layer.comm[static_cast<std::size_t>(TrainingPhase::Forward)] = collective;
            m_table.layers.push_back(std::move(layer));
        } while (m_lines.Next());
    }

    void CheckCheckpoints()
    {
        const auto mark = [this](const std::vector<uint32_t>& list, bool Layer::*flag) {
            for (const uint32_t layer : list)
            {
                if (layer >= m_table.layers.size())
                {
                    throw ns3::InputError(m_lines.Name(),
                                          m_headerLine,
                                          "checkpoint layer " + std::to_string(layer) +
                                              " does not exist",
                                          "a layer below " + std::to_string(m_table.layers.size()));
                }
                m_table.layers[layer].*flag = true;
            }
        };
        mark(m_checkpoints, &Layer::checkpoint);
        mark(m_initiates, &Layer::initiates);
        for (const uint32_t layer : m_initiates)
        {
            const auto end = m_table.layers.begin() + layer + 1;
            if (std::none_of(m_table.layers.begin(), end, [](const Layer& l) {
                    return l.checkpoint;
                }))
            {
                throw ns3::InputError(m_lines.Name(),
                                      m_headerLine,
                                      "layer " + std::to_string(layer) +
                                          " starts a re-computation but no layer up to it is a "
                                          "checkpoint",
                                      "a checkpoint at or before it");
            }
        }
    }

    [[noreturn]] void FailHeader(const std::string& what, const std::string& expected) const
    {
        throw ns3::InputError(m_lines.Name(), m_headerLine, what, expected);
    }

    void CheckStageRows() const
    {
        const auto& rows = m_table.stageRows;
        const bool isTraining =
            m_table.policy == ParallelismPolicy::HybridTransformerFwdInBckwd && !m_table.inference;
        if (!m_table.schedule.empty() && !isTraining)
        {
            FailHeader("schedule is for training of HYBRID_TRANSFORMER_FWD_IN_BCKWD",
                       "a header without it");
        }
        const uint32_t directions =
            m_table.schedule.empty() ? 1 : PipelineSchedule::Find(m_table.schedule).GetDirections();
        if (rows.empty())
        {
            if (directions > 1)
            {
                FailHeader("schedule " + m_table.schedule + " is for rows of stages",
                           "stage_rows with the rows of each stage");
            }
            if (m_table.tiedBytes > 0 || m_table.reducesEach)
            {
                FailHeader("tied_comm and reduce_each are for rows of stages",
                           "stage_rows with the rows of each stage");
            }
            return;
        }
        if (!isTraining)
        {
            FailHeader("stage_rows is for training of HYBRID_TRANSFORMER_FWD_IN_BCKWD",
                       "a header without it");
        }
        const uint32_t chunks = m_table.virtualStages * directions;
        const uint64_t expected = uint64_t{std::max(m_table.sizes.pp, 1U)} * (1 + chunks);
        if (rows.size() != expected)
        {
            FailHeader("stage_rows has " + std::to_string(rows.size()) + " numbers",
                       std::to_string(expected) +
                           ": for each of pp stages the rows once per pass and those of each of " +
                           (directions > 1 ? "2 vpp chunks" : "vpp chunks"));
        }
        const auto sum = std::accumulate(rows.begin(), rows.end(), uint64_t{0});
        if (sum != m_table.layers.size())
        {
            FailHeader("stage_rows add up to " + std::to_string(sum),
                       std::to_string(m_table.layers.size()) + ", the number of layers");
        }
        for (std::size_t i = 0; i < rows.size(); ++i)
        {
            if (rows[i] == 0 && i % (1 + chunks) != 0)
            {
                FailHeader("stage_rows has a chunk without rows", "a row for every chunk");
            }
        }
    }

    /// Collectives that run beside computation.
    void TakeOverlaps()
    {
        static constexpr const char* KEYS[] = {"forward_until", "input_until"};
        for (std::size_t phase = 0; phase < std::size(KEYS); ++phase)
        {
            const auto& pairs = m_until[phase];
            const std::string key = KEYS[phase];
            if (!pairs.empty() && m_table.stageRows.empty())
            {
                FailHeader(key + " is for rows of stages",
                           "stage_rows with the rows of each stage");
            }
            if (pairs.size() % 2 != 0)
            {
                FailHeader(key + " has " + std::to_string(pairs.size()) + " numbers",
                           "pairs of rows");
            }
            for (std::size_t i = 0; i < pairs.size(); i += 2)
            {
                const uint32_t row = pairs[i];
                const uint32_t until = pairs[i + 1];
                const bool isLater = phase == 0 ? until > row : until <= row;
                if (std::max(row, until) >= m_table.layers.size() || !isLater)
                {
                    FailHeader(key + " has row " + std::to_string(row) + " and row " +
                                   std::to_string(until),
                               std::string("rows of the table, the second one ") +
                                   (phase == 0 ? "after the first" : "not after the first"));
                }
                m_table.layers[row].until[phase] = static_cast<int32_t>(until);
            }
        }
    }

    ns3::InputLines& m_lines;
    LayerTable m_table;
    std::size_t m_headerLine{1};
    std::array<std::vector<uint32_t>, 2> m_until; ///< of forward and input gradient: pairs of rows
    std::vector<uint32_t> m_checkpoints;
    std::vector<uint32_t> m_initiates;
    ns3::Rows m_header;
    bool m_suffixed{false}; ///< of the collective name parsed last
};

} // namespace

LayerTable
ReadLayerTable(const std::string& path)
{
    ns3::RefuseForeignFile(path);
    ns3::InputLines lines(path);
    return LayerTableReader(lines).Read();
}

ParallelSizes
GroupSizes(const LayerTable& table, const ParallelSizes& options, const std::vector<int>& ranks)
{
    ParallelSizes sizes = table.sizes;
    const auto choose = [](uint32_t& size, uint32_t option) { size = size ? size : option; };
    choose(sizes.tp, options.tp);
    choose(sizes.ep, options.ep);
    choose(sizes.pp, options.pp);
    sizes.world = static_cast<uint32_t>(ranks.size());
    sizes.gpusPerServer = 0;
    if (table.policy == ParallelismPolicy::Model && sizes.tp == 0)
    {
        sizes.tp = sizes.world;
    }
    if (table.policy != ParallelismPolicy::Micro || sizes.tp || sizes.ep || sizes.pp)
    {
        return sizes;
    }
    const uint32_t server = options.gpusPerServer;
    const auto gap =
        std::ranges::adjacent_find(ranks, [](int rank, int next) { return next != rank + 1; });
    const bool wholeServers = server > 1 && sizes.world > server && sizes.world % server == 0 &&
                              static_cast<uint32_t>(ranks.front()) % server == 0 &&
                              gap == ranks.end();
    if (table.microLines && wholeServers)
    {
        sizes.gpusPerServer = server;
        sizes.tp = server;
        sizes.ep = sizes.world / server;
    }
    else
    {
        sizes.everyGroupIsWorld = true;
    }
    return sizes;
}

LayerTable
ReadLayerTable(std::istream& text, const std::string& name)
{
    ns3::InputLines lines(text, name);
    return LayerTableReader(lines).Read();
}

std::string
DescribeLayerTableKeys()
{
    std::istringstream none;
    ns3::InputLines lines(none, "");
    return LayerTableReader(lines).GetHeader().ToCsv();
}

} // namespace AstraSim

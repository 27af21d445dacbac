/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "layer-table.h"

#include "astra-frontend/model/system/run-observer.h"

#include "ns3/foreign-file.h"
#include "ns3/input-error.h"
#include "ns3/input-lines.h"
#include "ns3/units.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

namespace AstraSim
{

namespace
{

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

/// Reads one file; its methods go down the grammar.
class LayerTableReader
{
  public:
    explicit LayerTableReader(ns3::InputLines& lines)
        : m_lines(lines)
    {
        m_table.file = lines.Name();
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
        return std::move(m_table);
    }

  private:
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
    uint64_t Bytes(std::size_t field, const std::string& what) const
    {
        const uint64_t bytes = BytesOfAnySize(field, what);
        if (bytes >= SIZES_END)
        {
            Fail(what + " is " + std::string(Field(field)), "less than 2^53 bytes (8 PiB)");
        }
        return bytes;
    }

    uint64_t BytesOfAnySize(std::size_t field, const std::string& what) const
    {
        if (field < m_lines.Fields().size())
        {
            const std::string_view text = Field(field);
            const auto point = text.find('.');
            if (point != std::string_view::npos && point > 0 &&
                text.find_first_not_of('0', point + 1) == std::string_view::npos)
            {
                if (const auto value = ns3::ParseUnsigned(text.substr(0, point)))
                {
                    return *value;
                }
            }
        }
        return Number(field, what);
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
        const bool isDlrm = m_table.policy == ParallelismPolicy::Dlrm ||
                            m_table.policy == ParallelismPolicy::HybridDlrmEnhanced;
        if (isDlrm && m_table.lastBottomLayer < 0)
        {
            Fail("the header does not say where the bottom network ends",
                 "the number of its last layer after the policy");
        }
    }

    /// @return the field after the key and its values
    std::size_t ReadHeaderKey(std::size_t field)
    {
        std::string key(Field(field));
        const bool isDlrm = m_table.policy == ParallelismPolicy::Dlrm ||
                            m_table.policy == ParallelismPolicy::HybridDlrmEnhanced;
        if (isDlrm && ns3::ParseUnsigned(key))
        {
            m_table.lastBottomLayer = static_cast<int>(Small(field, "the last bottom layer", 0));
            return field + 1;
        }
        if (key.ends_with(':'))
        {
            key.pop_back();
        }
        if (!m_headerKeys.insert(key == "expert_parallel_npu_group" ? "ep" : key).second)
        {
            Fail("the key '" + key + "' occurs twice in the header", "each key once");
        }
        ++field;
        if (key == "model_parallel_NPU_group")
        {
            m_table.sizes.tp = Small(field, key, 1);
        }
        else if (key == "ep" || key == "expert_parallel_npu_group")
        {
            m_table.sizes.ep = Small(field, key, 1);
        }
        else if (key == "etp")
        {
            m_table.sizes.etp = Small(field, key, 1);
        }
        else if (key == "pp")
        {
            m_table.sizes.pp = Small(field, key, 1);
        }
        else if (key == "cp")
        {
            m_table.sizes.cp = Small(field, key, 1);
        }
        else if (key == "vpp")
        {
            m_table.virtualStages = Small(field, key, 1);
        }
        else if (key == "ga")
        {
            m_table.gradientAccumulation = Small(field, key, 1);
        }
        else if (key == "all_gpus")
        {
            m_table.sizes.world = Small(field, key, 1);
        }
        else if (key == "pp_comm")
        {
            m_table.pipelineBytes = Bytes(field, key);
        }
        else if (key == "tied_comm")
        {
            m_table.tiedBytes = Bytes(field, key);
        }
        else if (key == "reduce_each")
        {
            m_table.reducesEach = Number(field, key) == 1;
            if (!m_table.reducesEach && Field(field) != "0")
            {
                Fail("'" + std::string(Field(field)) + "' is not a valid value of reduce_each",
                     "0 (after the last micro-batch) or 1 (after each)");
            }
        }
        else if (key == "stage_rows")
        {
            const uint32_t count = Small(field, key, 1);
            for (uint32_t i = 0; i < count; ++i)
            {
                m_table.stageRows.push_back(Small(++field, "a number of stage_rows", 0));
            }
        }
        else if (key == "mode")
        {
            m_table.inference = Number(field, key) == 1;
            if (!m_table.inference && Field(field) != "0")
            {
                Fail("'" + std::string(Field(field)) + "' is not a valid mode",
                     "0 (training) or 1 (inference: forward passes only)");
            }
        }
        else if (key == "DLRM_LAST_BOTTOM_LAYER")
        {
            m_table.lastBottomLayer = static_cast<int>(Small(field, key, 0));
        }
        else if (key == "checkpoints" || key == "checkpoint_initiates")
        {
            auto& list = key == "checkpoints" ? m_checkpoints : m_initiates;
            const uint32_t count = Small(field, key, 0);
            for (uint32_t i = 0; i < count; ++i)
            {
                list.push_back(Small(++field, "a layer of " + key, 0));
            }
        }
        else
        {
            Fail("unknown key '" + key + "' in the header",
                 "model_parallel_NPU_group, ep, expert_parallel_npu_group, etp, pp, cp, vpp, "
                 "ga, all_gpus, mode, checkpoints, checkpoint_initiates, pp_comm, stage_rows, "
                 "tied_comm or reduce_each");
        }
        return field + 1;
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
        collective.bytes = Bytes(field + 1, "the collective's size");
        return collective;
    }

    GroupKind DefaultGroup(TrainingPhase phase) const
    {
        // DLRM's embedding tables lie on all ranks: the DP group if TP is 1.
        const bool isDlrm = m_table.policy == ParallelismPolicy::Dlrm ||
                            m_table.policy == ParallelismPolicy::HybridDlrmEnhanced;
        if (isDlrm || m_table.policy == ParallelismPolicy::Micro ||
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
            collective.bytes = Bytes(2, "the collective's size");
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
        if (rows.empty())
        {
            if (m_table.tiedBytes > 0 || m_table.reducesEach)
            {
                FailHeader("tied_comm and reduce_each are for rows of stages",
                           "stage_rows with the rows of each stage");
            }
            return;
        }
        if (m_table.policy != ParallelismPolicy::HybridTransformerFwdInBckwd || m_table.inference)
        {
            FailHeader("stage_rows is for training of HYBRID_TRANSFORMER_FWD_IN_BCKWD",
                       "a header without it");
        }
        const uint32_t chunks = m_table.virtualStages;
        const uint64_t expected = uint64_t{std::max(m_table.sizes.pp, 1U)} * (1 + chunks);
        if (rows.size() != expected)
        {
            FailHeader("stage_rows has " + std::to_string(rows.size()) + " numbers",
                       std::to_string(expected) +
                           ": for each of pp stages the rows once per pass and those of each of "
                           "vpp chunks");
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

    ns3::InputLines& m_lines;
    LayerTable m_table;
    std::size_t m_headerLine{1};
    std::set<std::string, std::less<>> m_headerKeys; ///< so far
    std::vector<uint32_t> m_checkpoints;
    std::vector<uint32_t> m_initiates;
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
    const auto gap = std::adjacent_find(ranks.begin(), ranks.end(), [](int rank, int next) {
        return next != rank + 1;
    });
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

} // namespace AstraSim

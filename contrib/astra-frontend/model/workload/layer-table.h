/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LAYER_TABLE_H
#define LAYER_TABLE_H

#include "ns3/collective-types.h"
#include "ns3/rank-network.h"

#include <array>
#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace AstraSim
{

/// Order of a text workload's layers (the first word of the file).
enum class ParallelismPolicy : uint8_t
{
    Micro,
    Data,
    Model,
    HybridTransformer,
    HybridTransformerFwdInBckwd,
    HybridDataModel,
    HybridModelData,
    Dlrm,
    HybridDlrmEnhanced,
};

/// A collective of a layer.
struct LayerCollective
{
    CollectiveOp op{CollectiveOp::None};
    GroupKind group{GroupKind::Tp};
    bool thenAllToAll{false}; ///< ALLREDUCEALLTOALL: an AllToAll of the same bytes follows
    uint64_t bytes{0};
};

/// One row of a text workload. Arrays are indexed by TrainingPhase: forward, input gradient, weight
/// gradient.
struct Layer
{
    std::string name;
    uint32_t line{0}; ///< of the file
    int dependency{-1};
    std::array<TimePs, 3> compute{};
    std::array<LayerCollective, 3> comm{};
    TimePs update{0};       ///< after the weight gradient's collective, before the next forward
    uint32_t repeat{1};     ///< micro lines: how often it is done
    bool checkpoint{false}; ///< its input is kept
    bool initiates{false};  ///< its backward first computes forward again from the last checkpoint
    /// Forward and input gradient: the row before whose computation the collective must be over;
    /// -1: it is waited for at once. An input gradient's own row: after its weight gradient.
    std::array<int32_t, 2> until{-1, -1};
};

/// Sizes of the parallel groups; 0 where the file says nothing.
struct ParallelSizes
{
    uint32_t tp{0};
    uint32_t ep{0};
    uint32_t pp{0};
    uint32_t world{0};
    bool everyGroupIsWorld{false}; ///< without sizes: each name means all ranks
    uint32_t cp{0};                ///< context parallel: part of DP
    uint32_t gpusPerServer{0};     ///< micro lines without sizes: ranks of a TP group
    uint32_t etp{0};               ///< tensor parallel size of experts; 0: TP
};

/// A text workload as it is written.
struct LayerTable
{
    std::string file;
    ParallelismPolicy policy{ParallelismPolicy::Micro};
    ParallelSizes sizes;
    uint32_t virtualStages{1};        ///< vpp
    uint32_t gradientAccumulation{1}; ///< ga: micro-batches
    uint64_t pipelineBytes{0};        ///< pp_comm: bytes between stages per micro-batch
    uint64_t tiedBytes{0};            ///< tied_comm: bytes that the first and last stage exchange
    std::string schedule;             ///< name of a PipelineSchedule; empty: the usual order
    bool reducesEach{false}; ///< reduce_each: weight gradients' collectives in every micro-batch
    std::vector<uint32_t>
        stageRows;           ///< stage_rows: of each stage rows once per pass, rows of each chunk
    int lastBottomLayer{-1}; ///< DLRM: the last layer of the bottom network
    bool inference{false};   ///< mode 1 of AICB: forward passes only
    bool microLines{false};  ///< made of `<passes> <OP> <bytes> <GROUP>`
    std::vector<Layer> layers;
};

/**
 * Reads SimAI's text format, that of ASTRA-sim 1.0, and micro lines (FORMATS: `<passes> <OP>
 * <bytes> <GROUP>`), told apart by the first field.
 *
 * @code
 * LayerTable table = ReadLayerTable("microAllReduce.txt");
 * table.layers[0].comm[0].bytes; // of the forward collective
 * @endcode
 *
 * @throw ns3::InputError with the line of the mistake
 */
LayerTable ReadLayerTable(const std::string& path);

/**
 * Sizes of a workload's groups on some ranks. Micro lines without sizes take a server's GPUs as TP
 * and all its servers as DP and EP; where the ranks are not several whole servers, each name means
 * all of them.
 * @param options sizes where the file has none, and a server's GPUs (0: unknown)
 * @param ranks of the network
 */
ParallelSizes GroupSizes(const LayerTable& table,
                         const ParallelSizes& options,
                         const std::vector<int>& ranks);

/// @copydoc ReadLayerTable(const std::string&) @param name the text's name in errors
LayerTable ReadLayerTable(std::istream& text, const std::string& name);

/// @return the keys of the first line, as Rows::ToCsv() has them
std::string DescribeLayerTableKeys();

} // namespace AstraSim

#endif /* LAYER_TABLE_H */

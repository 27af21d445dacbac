/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef STEP_COST_H
#define STEP_COST_H

#include "astra-frontend/model/inference/input/serving-config.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace AstraSim
{

/// Computation of a step for one replica: sums over the sequences of its batch.
struct StepShape
{
    uint64_t tokens{0};            ///< new ones
    uint64_t promptTokens{0};      ///< of those, in prompts
    uint64_t decodingSequences{0}; ///< those whose prompt is in the cache
    uint64_t decodingTokens{0};    ///< new tokens of those, drafts included
    uint64_t sampled{0};           ///< tokens of which logits are computed
    double promptScores{0};        ///< pairs of a prompt's new token and a token that it attends to
    uint64_t promptCached{0};      ///< tokens of caches that prompts read, the new ones included
    uint64_t decodeCached{0};      ///< tokens of caches that decoding sequences read
    uint32_t window{0};            ///< tokens that a token attends to in layers with a window
    double windowPromptScores{0};  ///< the same three figures in these layers
    uint64_t windowPromptCached{0};
    uint64_t windowDecodeCached{0};
    uint64_t instanceTokens{0};   ///< new tokens of all replicas of the instance
    uint64_t instanceDecoding{0}; ///< decoding sequences of all replicas of the instance
    bool captured{false};         ///< a CUDA graph launches the step's kernels

    /// Add a sequence that has @p before tokens in its cache and gets @p count new ones, of which
    /// a draft has proposed @p drafts.
    void Add(uint64_t before, uint64_t count, bool isDecoding, bool isSampled, uint64_t drafts = 0);
};

/// Computation of a rank, and the collective after it.
struct StepSegment
{
    TimePs compute{0};
    TimePs launched{0}; ///< time after the step's begin at which the CPU has launched its kernels
    uint32_t row{0};    ///< the last row of the pool that it contains
    CollectiveOp op{CollectiveOp::None};
    GroupKind group{GroupKind::Tp};
    uint64_t bytes{0};
    bool returns{false};        ///< whether an AllToAll returns the tokens of the last one
    uint32_t layer{UINT32_MAX}; ///< that ends with this segment; UINT32_MAX: none
};

/**
 * @ingroup astra-frontend
 * @brief Computation times of an instance's ranks: measured times or a roofline of each operator.
 *
 * An operator without measured times takes the longer of two times: its operations at the GPU's
 * highest rate (for products, less the part that the last wave of tiles leaves idle), and its bytes
 * at the memory's rate. Attention of prompts and of decoding sequences run one after the other.
 * Each expert gets the same number of tokens, and only experts that get one are read from memory.
 */
class StepCost
{
  public:
    /// @param pool borrowed @param layers of the model
    StepCost(const InstancePool& pool, uint32_t layers);

    /// @return time of an operator of the pool
    TimePs TimeOf(const OperatorRow& row, const StepShape& shape) const;

    /**
     * @param stage of the pipeline
     * @param marksLayers whether every layer ends a segment
     * @return the segments of a rank of the stage in a step, in their order
     */
    std::vector<StepSegment> Program(uint32_t stage,
                                     const StepShape& shape,
                                     bool marksLayers) const;

    /// @return the first layer of a stage, and the one after its last
    std::pair<uint32_t, uint32_t> LayersOf(uint32_t stage) const;

    /// @return the stage that has a layer
    uint32_t StageOf(uint32_t layer) const;

  private:
    double Matmul(const OperatorRow& row, double m, double count) const;
    double Attention(const OperatorRow& row, const StepShape& shape) const;
    TimePs DraftTime(const StepShape& shape) const;
    double Filled(double m, double n, double count) const;
    double Moved(double bytes) const;

    const InstancePool& m_pool;
    uint32_t m_layers;
};

} // namespace AstraSim

#endif /* STEP_COST_H */

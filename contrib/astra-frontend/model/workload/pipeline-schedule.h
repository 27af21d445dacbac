/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PIPELINE_SCHEDULE_H
#define PIPELINE_SCHEDULE_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace AstraSim
{

/// Sizes that the numbers of a schedule follow from.
struct PipelineShape
{
    uint32_t stages;
    uint32_t batches; ///< micro-batches
    uint32_t chunks;  ///< virtual stages of a stage
};

/// A pass of a micro-batch through a chunk of a stage.
struct PipelinePass
{
    enum class Kind : uint8_t
    {
        Forward,
        Backward,
        InputGradient,  ///< half of Backward
        WeightGradient, ///< the other half; no stage waits for it
    };

    Kind kind;
    bool overlaps; ///< with the pass before it
    uint32_t microBatch;
    uint32_t chunk;               ///< of the stage
    uint32_t position;            ///< of the chunk in the pipeline
    std::optional<uint32_t> from; ///< stage that sends the input
    std::optional<uint32_t> to;   ///< stage that waits for the result
    bool isLast{false};           ///< all weight gradients of the chunk are there after it
};

/**
 * @ingroup astra-frontend
 * @brief The order in which the stages of a pipeline carry out the passes of micro-batches.
 *
 * The schedules are those of python/clustersim/workload/plan/schedules.yaml, whose first lines
 * say what a description means. The file is compiled in, and the Python commands read it, too.
 *
 * @code
 * for (const auto& pass : PipelineSchedule::Find("1f1b").Passes({.stages = 4, .batches = 8,
 *                                                                .chunks = 1}, 0))
 * @endcode
 */
class PipelineSchedule
{
  public:
    using Schedules = std::map<std::string, PipelineSchedule>;

    /// @return the schedules that are compiled in
    static const Schedules& All();
    /// @return the schedule of an existing name
    static const PipelineSchedule& Find(const std::string& name);
    /// @param text descriptions @param source the text's name in errors
    /// @throw ns3::InputError that it describes no schedules
    static Schedules Read(const std::string& text, const std::string& source);

    /// @return the shape that this schedule needs, in words, if the pipeline has another; else an
    /// empty text
    std::string Lacks(const PipelineShape& shape) const;

    /// @return the ends of the pipeline at which micro-batches enter: 2 parts of the model a stage
    uint32_t GetDirections() const
    {
        return m_directions;
    }

    /// @return the passes of a stage in their order; the pipeline lacks nothing
    std::vector<PipelinePass> Passes(const PipelineShape& shape, uint32_t stage) const;

  private:
    using Lines = std::vector<std::pair<std::string, std::string>>;

    /// @return the numbers that expressions name
    std::map<std::string, int64_t> Numbers(const PipelineShape& shape, uint32_t stage) const;
    int64_t Number(const std::string& expression,
                   const std::map<std::string, int64_t>& numbers) const;

    std::string m_source;
    uint32_t m_directions{1};
    Lines m_names; ///< and their expressions
    Lines m_needs; ///< words and expressions that are 0 if the schedule is possible
    Lines m_order; ///< numbers of times and passes
};

} // namespace AstraSim

#endif /* PIPELINE_SCHEDULE_H */

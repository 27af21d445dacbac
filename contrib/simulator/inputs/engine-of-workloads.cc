/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "engine-of-workloads.h"

#include "astra-frontend/model/workload/workload-file.h"
#include "collectives/model/nccl/engine-all-reduce.h"

#include <fmt/format.h>

namespace AstraSim
{

NcclOptions
WithEngineOf(const std::vector<JobPlacement>& jobs,
             NcclOptions options,
             const GpuProfile& gpu,
             std::vector<std::string>& warnings)
{
    if (options.engine)
    {
        return options;
    }
    const EngineAllReduce* engine = nullptr;
    NamedEngine first;
    for (std::size_t i = 0; i < jobs.size(); ++i)
    {
        const std::string& file = jobs[i].workload;
        const NamedEngine named = AllReduceOf(file);
        if (!named.name.empty())
        {
            const std::string place = fmt::format("{}:{}", file, named.line);
            engine = &EngineAllReduce::Find(named.name, place, "all_reduce");
            if (!engine->Knows(gpu.generation))
            {
                warnings.push_back(fmt::format("{}: the AllReduce of {} on {} GPUs is not known; "
                                               "that of their library takes its place",
                                               place,
                                               named.name,
                                               ToString(gpu.generation)));
                return options;
            }
        }
        if (i > 0 && named.name != first.name)
        {
            warnings.push_back(fmt::format(
                "{} and {} name different engines in all_reduce, and a run has one AllReduce: that "
                "of the GPUs' library, unless AS_ENGINE_ALLREDUCE names an engine",
                jobs.front().workload,
                file));
            return options;
        }
        first = named;
    }
    options.engine = engine;
    return options;
}

} // namespace AstraSim

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "parallel-size-flags.h"

#include "ns3/layer-table.h"

namespace AstraSim
{

void
AddParallelSizes(ProgramFlags& flags, ParallelSizes& sizes)
{
    const auto add = [&flags](const char* name, uint32_t& size, const char* help) {
        flags.Add(FlagSubject::Traffic, name, size, help).Record(name, size);
    };
    add("tp", sizes.tp, "GPUs of a tensor-parallel group, for micro lines (default: a server's)");
    add("ep",
        sizes.ep,
        "ranks of an expert-parallel group, for micro lines (default: the GPUs at the same "
        "position in all servers)");
    add("pp", sizes.pp, "stages of the pipeline, for micro lines (default: 1)");
}

} // namespace AstraSim

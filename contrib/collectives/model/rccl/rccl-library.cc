/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/nccl/nccl-library.h"
#include "rccl-cost-model.h"

#include <memory>

namespace AstraSim
{

namespace
{

/// RCCL is NCCL with another cost model.
const CollectiveLibrary::Kind RCCL_LIBRARY(
    "RCCL",
    [](const CollectiveLibrary::Inputs& inputs) -> std::unique_ptr<CollectiveLibrary> {
        if (!IsAmd(inputs.machine.gpu.generation))
        {
            return nullptr;
        }
        auto model = std::make_unique<RcclCostModel>(inputs.machine, inputs.nccl);
        return std::make_unique<NcclLibrary>(std::move(model));
    });

} // namespace

} // namespace AstraSim

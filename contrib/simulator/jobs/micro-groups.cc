/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "micro-groups.h"

#include "astra-frontend/model/workload/layer-workload.h"

#include <fmt/format.h>

namespace AstraSim
{

std::string
DescribeMicroGroups(const Workload& workload)
{
    const auto* layers = dynamic_cast<const LayerWorkload*>(&workload);
    if (!layers || !layers->GroupsAreServers())
    {
        return "";
    }
    const RankLayout& layout = layers->GetLayout();
    return fmt::format("{}: TP groups are the {} GPUs of a server, DP and EP groups the {} GPUs at "
                       "the same place of all servers; --tp, --ep and --pp change that\n",
                       layers->GetFileName(),
                       layout.GetSize(GroupKind::Tp),
                       layout.GetSize(GroupKind::Dp));
}

} // namespace AstraSim

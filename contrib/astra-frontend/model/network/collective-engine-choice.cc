/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-engine-choice.h"

#include <algorithm>
#include <utility>

namespace AstraSim
{

CollectiveEngineChoice::CollectiveEngineChoice(CollectiveImplementation& nccl,
                                               CollectiveImplementation& engines,
                                               std::vector<std::string> classes)
    : m_nccl(nccl),
      m_engines(engines),
      m_classes(std::move(classes))
{
}

std::shared_ptr<const CollectivePlan>
CollectiveEngineChoice::Plan(const CommGroup& group, const CollectiveRequest& request)
{
    const bool have = request.op != CollectiveOp::None && request.op != CollectiveOp::AllToAllV &&
                      request.op != CollectiveOp::SendRecv;
    const bool isTheirs = std::ranges::find(m_classes, ToString(group.kind)) != m_classes.end();
    return have && isTheirs && group.ranks.size() > 1 ? m_engines.Plan(group, request)
                                                      : m_nccl.Plan(group, request);
}

} // namespace AstraSim

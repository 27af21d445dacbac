/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-algorithm.h"

#include <algorithm>
#include <utility>

namespace AstraSim
{

namespace
{

std::vector<const CollectiveAlgorithm*>&
Known()
{
    // Made by the first algorithm: objects of other files may be constructed before this one's.
    static std::vector<const CollectiveAlgorithm*> known;
    return known;
}

} // namespace

CollectiveAlgorithm::CollectiveAlgorithm(std::string name, Rules rules)
    : m_name(std::move(name)),
      m_rules(std::move(rules))
{
    auto& known = Known();
    const auto after = std::ranges::upper_bound(known, m_name, {}, &CollectiveAlgorithm::GetName);
    known.insert(after, this);
}

CollectiveAlgorithm::~CollectiveAlgorithm()
{
    std::erase(Known(), this);
}

const std::vector<const CollectiveAlgorithm*>&
CollectiveAlgorithm::GetAll()
{
    return Known();
}

} // namespace AstraSim

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-algorithm.h"

#include <algorithm>
#include <cctype>
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

const CollectiveAlgorithm*
CollectiveAlgorithm::Find(std::string_view name)
{
    const auto isSame = [](char a, char b) { return std::tolower(a) == std::tolower(b); };
    const auto found = std::ranges::find_if(Known(), [&](const CollectiveAlgorithm* each) {
        return std::ranges::equal(each->GetName(), name, isSame);
    });
    return found == Known().end() ? nullptr : *found;
}

const std::vector<const CollectiveAlgorithm*>&
CollectiveAlgorithm::GetAll()
{
    return Known();
}

} // namespace AstraSim

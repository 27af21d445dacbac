/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-engine.h"

#include <algorithm>
#include <utility>

namespace AstraSim
{

namespace
{

std::vector<const CollectiveEngine::Kind*>&
KnownEngines()
{
    // A local variable, since kinds in other files register while static objects are constructed,
    // possibly before those of this file.
    static std::vector<const CollectiveEngine::Kind*> known;
    return known;
}

} // namespace

CollectiveEngine::Kind::Kind(std::string name, Make make)
    : m_name(std::move(name)),
      m_make(std::move(make))
{
    auto& known = KnownEngines();
    known.insert(std::ranges::upper_bound(known, m_name, {}, &Kind::GetName), this);
}

CollectiveEngine::Kind::~Kind()
{
    std::erase(KnownEngines(), this);
}

const std::vector<const CollectiveEngine::Kind*>&
CollectiveEngine::GetKinds()
{
    return KnownEngines();
}

} // namespace AstraSim

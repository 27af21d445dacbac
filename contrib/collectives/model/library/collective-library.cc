/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-library.h"

#include <algorithm>
#include <utility>

namespace AstraSim
{

namespace
{

std::vector<const CollectiveLibrary::Kind*>&
KnownKinds()
{
    // Made by the first kind: objects of other files may be constructed before this one's.
    static std::vector<const CollectiveLibrary::Kind*> known;
    return known;
}

} // namespace

CollectiveLibrary::Kind::Kind(std::string name, Open open)
    : m_name(std::move(name)),
      m_open(std::move(open))
{
    auto& known = KnownKinds();
    known.insert(std::ranges::upper_bound(known, m_name, {}, &Kind::GetName), this);
}

CollectiveLibrary::Kind::~Kind()
{
    std::erase(KnownKinds(), this);
}

std::vector<std::unique_ptr<CollectiveLibrary>>
CollectiveLibrary::OpenAll(const Inputs& inputs)
{
    std::vector<std::unique_ptr<CollectiveLibrary>> libraries;
    for (const Kind* kind : KnownKinds())
    {
        if (auto library = kind->m_open(inputs))
        {
            libraries.push_back(std::move(library));
        }
    }
    return libraries;
}

} // namespace AstraSim

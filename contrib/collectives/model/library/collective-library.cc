/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-library.h"

#include <utility>

namespace AstraSim
{

std::vector<std::unique_ptr<CollectiveLibrary>>
CollectiveLibrary::OpenAll(const Inputs& inputs)
{
    std::vector<std::unique_ptr<CollectiveLibrary>> libraries;
    for (const Kind* kind : Kind::GetAll())
    {
        if (auto library = kind->m_open(inputs))
        {
            libraries.push_back(std::move(library));
        }
    }
    return libraries;
}

} // namespace AstraSim

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "input-path.h"

#include <filesystem>
#include <system_error>

namespace ns3
{

std::string
FindInput(const std::string& path, const std::string& confFile)
{
    namespace fs = std::filesystem;
    const fs::path beside = fs::path(confFile).parent_path();
    for (const fs::path& candidate :
         {fs::path(path), beside / path, beside / fs::path(path).filename()})
    {
        std::error_code error;
        if (fs::is_regular_file(candidate, error))
        {
            return candidate.lexically_normal();
        }
    }
    return {};
}

} // namespace ns3

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCRATCH_DIRECTORY_H
#define SCRATCH_DIRECTORY_H

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace ns3
{

/// A directory of a test's own that vanishes with it.
class ScratchDirectory
{
  public:
    ScratchDirectory()
    {
        std::string pattern = (std::filesystem::temp_directory_path() / "qbb-XXXXXX").string();
        m_path = mkdtemp(pattern.data());
    }

    ~ScratchDirectory()
    {
        std::filesystem::remove_all(m_path);
    }

    std::string operator/(const std::string& name) const
    {
        return (m_path / name).string();
    }

    std::string Path() const
    {
        return m_path.string();
    }

    std::vector<std::string> LinesOf(const std::string& name) const
    {
        std::ifstream file(m_path / name);
        std::vector<std::string> lines;
        for (std::string line; std::getline(file, line);)
        {
            lines.push_back(line);
        }
        return lines;
    }

  private:
    std::filesystem::path m_path;
};

} // namespace ns3

#endif /* SCRATCH_DIRECTORY_H */

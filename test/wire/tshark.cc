/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tshark.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <stdexcept>

bool
Tshark::IsInstalled()
{
    return std::system("tshark --version >/dev/null 2>&1") == 0;
}

std::map<std::string, std::vector<std::string>>
Tshark::Columns(const std::string& path, const std::vector<std::string>& fields)
{
    std::string command = "tshark -n -r '" + path +
                          "' -o ip.check_checksum:TRUE -o udp.check_checksum:TRUE -T fields";
    for (const std::string& field : fields)
    {
        command += " -e " + field;
    }
    command += " 2>/dev/null";
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    if (!pipe)
    {
        throw std::runtime_error("cannot run " + command);
    }
    std::string output;
    std::array<char, 4096> buffer;
    while (const std::size_t read = std::fread(buffer.data(), 1, buffer.size(), pipe.get()))
    {
        output.append(buffer.data(), read);
    }
    std::map<std::string, std::vector<std::string>> columns;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);)
    {
        std::istringstream cells(line);
        for (const std::string& field : fields)
        {
            std::string cell;
            std::getline(cells, cell, '\t');
            columns[field].push_back(cell);
        }
    }
    return columns;
}

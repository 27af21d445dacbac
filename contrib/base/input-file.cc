/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "input-file.h"

#include "input-error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace ns3
{

namespace
{

/// @return words for a path that leads to something else than a file; null for a file
const char*
Otherwise(const struct stat& status, const struct stat& null)
{
    if (S_ISREG(status.st_mode) || (S_ISCHR(status.st_mode) && status.st_rdev == null.st_rdev))
    {
        return nullptr;
    }
    return S_ISDIR(status.st_mode)    ? "is a directory"
           : S_ISFIFO(status.st_mode) ? "is a pipe, and inputs are read more than once"
           : S_ISSOCK(status.st_mode) ? "is a socket"
                                      : "is a device";
}

/// Editors of Windows begin a text in UTF-8 with it.
void
SkipByteOrderMark(std::istream& file)
{
    constexpr std::string_view MARK = "\xEF\xBB\xBF";
    std::array<char, MARK.size()> begin;
    file.read(begin.data(), begin.size());
    if (std::string_view(begin.data(), static_cast<std::size_t>(file.gcount())) != MARK)
    {
        file.clear();
        file.seekg(0);
    }
}

} // namespace

void
CheckInputFile(const std::string& path, const std::string& expected)
{
    const auto refuse = [&](const std::string& what) {
        throw InputError(path.empty() ? "''" : path, 0, what, expected + " that can be read");
    };

    struct stat status
    {
    };

    struct stat null
    {
    };

    if (stat(path.c_str(), &status) != 0)
    {
        refuse(std::string("cannot be read: ") + std::strerror(errno));
    }
    stat("/dev/null", &null);
    if (const char* otherwise = Otherwise(status, null))
    {
        refuse(otherwise);
    }
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
    {
        refuse(std::string("cannot be read: ") + std::strerror(errno));
    }
    close(descriptor);
}

std::unique_ptr<std::istream>
OpenInputFile(const std::string& path, const std::string& expected)
{
    CheckInputFile(path, expected);
    auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
    if (!*file)
    {
        throw InputError(path, 0, std::string("cannot be read: ") + std::strerror(errno), expected);
    }
    SkipByteOrderMark(*file);
    return file;
}

std::string
ReadInputFile(const std::string& path, const std::string& expected)
{
    const auto file = OpenInputFile(path, expected);
    std::string text;
    std::array<char, 1 << 16> piece;
    while (file->read(piece.data(), piece.size()) || file->gcount() > 0)
    {
        text.append(piece.data(), static_cast<std::size_t>(file->gcount()));
        if (text.size() > LARGEST_WHOLE_INPUT)
        {
            throw InputError(path,
                             0,
                             "has more than " + std::to_string(LARGEST_WHOLE_INPUT >> 20) + " MiB",
                             expected);
        }
    }
    if (file->bad())
    {
        throw InputError(path, 0, "cannot be read to its end", expected);
    }
    if (const std::size_t null = text.find('\0'); null != std::string::npos)
    {
        throw InputError(
            path,
            1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(null), '\n'),
            "this line has a NUL character",
            expected);
    }
    return text;
}

bool
InputExists(const std::string& path)
{
    std::error_code error;
    return std::filesystem::exists(path, error);
}

} // namespace ns3

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "output-file.h"

#include "ns3/input-error.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <unistd.h>

namespace ns3
{

namespace
{

constexpr std::size_t BUFFER_BYTES = 1 << 16;

namespace fs = std::filesystem;

bool
IsWritableDirectory(const fs::path& path)
{
    return fs::is_directory(path) && access(path.c_str(), W_OK | X_OK) == 0;
}

} // namespace

OutputFile::OutputFile(const std::string& path)
    : m_path(path),
      m_buffer(BUFFER_BYTES),
      m_file(std::fopen(path.c_str(), "w"))
{
    if (!m_file)
    {
        throw InputError(path,
                         0,
                         std::string("cannot be written: ") + std::strerror(errno),
                         "a file that can be written");
    }
    std::setvbuf(m_file.get(), m_buffer.data(), _IOFBF, m_buffer.size());
}

OutputFile::~OutputFile() = default;

void
OutputFile::Print(const char* format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int written = std::vfprintf(m_file.get(), format, arguments);
    va_end(arguments);
    if (written < 0)
    {
        throw InputError(m_path,
                         0,
                         std::string("cannot be written: ") + std::strerror(errno),
                         "a file that can be written");
    }
    ++m_lines;
}

void
OutputFile::Write(std::string_view line)
{
    if (::fwrite_unlocked(line.data(), 1, line.size(), m_file.get()) != line.size())
    {
        throw InputError(m_path,
                         0,
                         std::string("cannot be written: ") + std::strerror(errno),
                         "a file that can be written");
    }
    ++m_lines;
}

void
OutputFile::Flush()
{
    if (std::fflush(m_file.get()) != 0)
    {
        throw InputError(m_path,
                         0,
                         std::string("cannot be written: ") + std::strerror(errno),
                         "a file that can be written");
    }
}

void
MakeOutputDirectory(const std::string& path)
{
    std::error_code error;
    fs::create_directories(path, error);
    if (error || access(path.c_str(), W_OK) != 0)
    {
        throw InputError(path, 0, "cannot be written", "an output directory that can be made");
    }
}

std::string
ResolveOutputPath(const std::string& key,
                  const std::string& path,
                  const std::string& outputDirectory,
                  std::vector<std::string>& warnings)
{
    const fs::path wanted = path;
    if (wanted.is_absolute() && IsWritableDirectory(wanted.parent_path()))
    {
        return wanted;
    }
    const fs::path normal = wanted.lexically_normal();
    const bool leadsOut = wanted.is_absolute() || *normal.begin() == "..";
    const fs::path inside = fs::path(outputDirectory) / (leadsOut ? normal.filename() : normal);
    if (leadsOut)
    {
        warnings.push_back(
            key + " " + path +
            (wanted.is_absolute() ? " cannot be written" : " is outside the output directory") +
            "; it goes to " + inside.string());
    }
    std::error_code error;
    fs::create_directories(inside.parent_path(), error);
    if (!IsWritableDirectory(inside.parent_path()))
    {
        throw InputError(inside.parent_path(),
                         0,
                         "is no directory that can be written to",
                         "one that exists, with your permission");
    }
    return inside;
}

} // namespace ns3

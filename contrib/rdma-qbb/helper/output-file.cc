/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "output-file.h"

#include "ns3/input-error.h"

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>

namespace ns3
{

namespace
{

namespace fs = std::filesystem;

bool
IsWritableDirectory(const fs::path& path)
{
    return fs::is_directory(path) && access(path.c_str(), W_OK | X_OK) == 0;
}

} // namespace

OutputFile::OutputFile(const std::string& path)
    : m_path(path),
      m_buffer(std::make_unique_for_overwrite<char[]>(BUFFER_BYTES)),
      m_descriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666))
{
    if (m_descriptor < 0)
    {
        Fail(errno);
    }
}

OutputFile::~OutputFile()
{
    WriteOut({m_buffer.get(), m_used});
    close(m_descriptor);
}

void
OutputFile::Fail(int error) const
{
    throw InputError(m_path,
                     0,
                     std::string("cannot be written: ") + std::strerror(error),
                     "a file that can be written");
}

int
OutputFile::WriteOut(std::string_view text) const
{
    while (!text.empty())
    {
        const ssize_t written = write(m_descriptor, text.data(), text.size());
        if (written >= 0)
        {
            text.remove_prefix(static_cast<std::size_t>(written));
        }
        else if (errno != EINTR)
        {
            return errno;
        }
    }
    return 0;
}

void
OutputFile::Print(const char* format, ...)
{
    std::array<char, 512> line; // most lines; a longer one is formatted again
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    const int length = std::vsnprintf(line.data(), line.size(), format, arguments);
    va_end(arguments);
    if (length >= 0 && static_cast<std::size_t>(length) < line.size())
    {
        Write({line.data(), static_cast<std::size_t>(length)});
    }
    else if (length >= 0)
    {
        std::string longLine(static_cast<std::size_t>(length) + 1, '\0');
        std::vsnprintf(longLine.data(), longLine.size(), format, again);
        longLine.pop_back();
        Write(longLine);
    }
    va_end(again);
    if (length < 0)
    {
        Fail(errno);
    }
}

void
OutputFile::MakeRoom(std::string_view line)
{
    Flush();
    if (line.size() <= BUFFER_BYTES)
    {
        Write(line);
        return;
    }
    if (const int error = WriteOut(line))
    {
        Fail(error);
    }
    ++m_lines;
}

void
OutputFile::Flush()
{
    // What cannot be written is not tried again: half of it may be in the file.
    const std::string_view text(m_buffer.get(), m_used);
    m_used = 0;
    if (const int error = WriteOut(text))
    {
        Fail(error);
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
    fs::path normal = wanted.lexically_normal();
    if (wanted.is_absolute())
    {
        const fs::path root = fs::absolute(outputDirectory).lexically_normal();
        normal = normal.lexically_relative(root);
    }
    const bool leadsOut = normal.empty() || *normal.begin() == "..";
    const fs::path inside =
        fs::path(outputDirectory) / (leadsOut ? wanted.lexically_normal().filename() : normal);
    if (leadsOut)
    {
        warnings.push_back(key + " " + path +
                           " is outside the output directory; the file is written to " +
                           inside.string());
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

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "output-file.h"

#include "input-error.h"

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace ns3
{

namespace
{

namespace fs = std::filesystem;

bool g_discards = false; ///< see DiscardAll()

bool
IsWritableDirectory(const fs::path& path)
{
    std::error_code error;
    return fs::is_directory(path, error) && access(path.c_str(), W_OK | X_OK) == 0;
}

/// @return whether a file at that path can be replaced by another: not a device or a pipe
bool
IsOrdinary(const std::string& path)
{
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    return !fs::exists(status) || fs::is_regular_file(status);
}

/// @return whether a path leads to the file of a descriptor
bool
IsFileAt(int descriptor, const std::string& path)
{
    struct stat open
    {
    };

    struct stat there
    {
    };

    return fstat(descriptor, &open) == 0 && stat(path.c_str(), &there) == 0 &&
           open.st_dev == there.st_dev && open.st_ino == there.st_ino;
}

} // namespace

OutputFile::OutputFile(const std::string& path)
    : m_path(path),
      m_part(IsOrdinary(path) ? path + PART_SUFFIX : path),
      m_buffer(std::make_unique_for_overwrite<char[]>(BUFFER_BYTES))
{
    do
    {
        if (m_descriptor >= 0)
        {
            close(m_descriptor);
        }
        m_descriptor = open(m_part.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        if (m_descriptor < 0)
        {
            Fail(errno);
        }
        if (m_part != m_path && flock(m_descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        {
            close(m_descriptor);
            throw InputError(m_path,
                             0,
                             "is being written by another program",
                             "an output directory for each run (-o)");
        }
        // Another holder of the lock may have given the file its name before we got it.
    } while (m_part != m_path && !IsFileAt(m_descriptor, m_part));
    if (m_part != m_path && ftruncate(m_descriptor, 0) != 0)
    {
        Fail(errno);
    }
}

OutputFile::~OutputFile()
{
    if (m_descriptor >= 0)
    {
        WriteOut({m_buffer.get(), m_used});
        close(m_descriptor);
    }
}

void
OutputFile::Finish()
{
    if (m_descriptor < 0)
    {
        return;
    }
    Flush();
    // Rename before close() drops the lock: until then, no other run can take the name.
    if (m_part != m_path && std::rename(m_part.c_str(), m_path.c_str()) != 0)
    {
        Fail(errno);
    }
    if (close(std::exchange(m_descriptor, -1)) != 0)
    {
        const int error = errno; // a network's file system tells of a full disk only now
        if (m_part != m_path)
        {
            std::rename(m_path.c_str(), m_part.c_str());
        }
        Fail(error);
    }
}

void
OutputFile::Fail(int error) const
{
    throw InputError(m_path,
                     0,
                     std::string("cannot be written: ") + std::strerror(error),
                     "a file that can be written");
}

void
OutputFile::DiscardAll()
{
    g_discards = true;
}

int
OutputFile::WriteOut(std::string_view text) const
{
    if (g_discards)
    {
        return 0;
    }
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
    // A failed write is not tried again: half of it may be in the file.
    const std::string_view text(m_buffer.get(), m_used);
    m_used = 0;
    if (const int error = WriteOut(text))
    {
        Fail(error);
    }
}

void
WriteWholeFile(const std::string& path, std::string_view text)
{
    OutputFile file(path);
    try
    {
        file.Write(text);
        file.Finish();
    }
    catch (const InputError&)
    {
        if (IsOrdinary(path))
        {
            std::remove((path + OutputFile::PART_SUFFIX).c_str()); // while we hold its lock
        }
        throw;
    }
}

void
MakeOutputDirectory(const std::string& path)
{
    std::error_code error;
    fs::create_directories(path, error);
    if (std::error_code unknown; fs::exists(path, unknown) && !fs::is_directory(path, unknown))
    {
        throw InputError(path, 0, "is not a directory", "an output directory that can be made");
    }
    if (error || access(path.c_str(), W_OK) != 0)
    {
        throw InputError(path, 0, "cannot be written", "an output directory that can be made");
    }
}

std::string
ResolveOutputPath(const std::string& key,
                  const std::string& path,
                  const std::string& outputDirectory,
                  std::vector<std::string>& moved)
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
        moved.push_back(key + " " + path);
    }
    std::error_code error;
    fs::create_directories(inside.parent_path(), error);
    if (!IsWritableDirectory(inside.parent_path()))
    {
        throw InputError(inside.parent_path(),
                         0,
                         "is not a directory that can be written to",
                         "one that exists, with your permission");
    }
    return inside;
}

void
WarnOfMoved(const std::vector<std::string>& moved,
            const std::string& outputDirectory,
            std::vector<std::string>& warnings)
{
    if (!moved.empty())
    {
        warnings.push_back(fmt::format("written to {} under their base names, as they lead out of "
                                       "the output directory: {}",
                                       outputDirectory,
                                       fmt::join(moved, ", ")));
    }
}

} // namespace ns3

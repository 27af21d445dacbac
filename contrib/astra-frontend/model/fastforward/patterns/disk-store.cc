/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "disk-store.h"

#include "move-bytes.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <random>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace AstraSim
{

namespace
{

namespace fs = std::filesystem;

constexpr const char* TAG = "CACHEDIR.TAG";
/// As the Cache Directory Tagging Specification has it.
constexpr std::string_view SIGNATURE = "Signature: 8a477f597d28d172789f06886806bc55\n";
constexpr std::string_view KIND =
    "# Patterns of traffic and what came of them (--fast-forward-store), format ";
constexpr std::string_view FORMAT = "1";

/// What the name of a file begins with that is not whole.
constexpr std::string_view NEW = ".new-";
constexpr auto NEW_AT_MOST = std::chrono::hours(1); ///< older ones were left by who was killed

constexpr const char* EXPECTED =
    "a directory of --fast-forward-store, an empty one, or one that can be made";

std::string
TagText()
{
    return fmt::format("{}{}{}\n", SIGNATURE, KIND, FORMAT);
}

std::string
NewName()
{
    std::random_device random;
    return fmt::format("{}{:08x}{:08x}", NEW, random(), random());
}

Sha256::Value
ChecksumOf(const DiskStore::Key& key, const std::byte* value, std::size_t count)
{
    Sha256 sum;
    sum.Add(key.data(), key.size());
    sum.Add(value, count);
    return sum.Finish();
}

/// @return all bytes of an open file; nothing if it cannot be read
std::optional<ns3::QbbBytes>
ReadAll(int descriptor)
{
    struct stat status
    {
    };

    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode))
    {
        return std::nullopt;
    }
    ns3::QbbBytes bytes(static_cast<std::size_t>(status.st_size));
    const auto read = [descriptor](std::byte* to, std::size_t count) {
        return ::read(descriptor, to, count);
    };
    return MoveAll(read, bytes.data(), bytes.size()) ? std::optional(std::move(bytes))
                                                     : std::nullopt;
}

/// Write a file that gets its name when it is whole. @return 0, or the errno of what went wrong
int
WriteWhole(const std::string& path, const void* bytes, std::size_t count)
{
    const std::string temporary = fs::path(path).parent_path().string() + "/" + NewName();
    const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0)
    {
        return errno;
    }
    const auto write = [descriptor](const std::byte* from, std::size_t length) {
        return ::write(descriptor, from, length);
    };
    errno = EIO; // if nothing is written, and nobody says why
    int error = MoveAll(write, static_cast<const std::byte*>(bytes), count) ? 0 : errno;
    if (::close(descriptor) != 0 && error == 0)
    {
        error = errno; // a network's file system tells of a full disk only now
    }
    if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0)
    {
        error = errno;
    }
    if (error != 0)
    {
        ::unlink(temporary.c_str());
    }
    return error;
}

/// A file of a share.
struct Kept
{
    std::string path;
    timespec used;
    uint64_t bytes;
};

/// @return the files of a share, of which those that were left unfinished are removed
std::vector<Kept>
FilesOf(const std::string& share)
{
    std::vector<Kept> files;
    const auto oldest =
        std::chrono::system_clock::to_time_t(std::chrono::system_clock::now() - NEW_AT_MOST);
    std::error_code error;
    for (fs::directory_iterator each(share, error), end; !error && each != end;
         each.increment(error))
    {
        struct stat status
        {
        };

        const std::string path = each->path();
        if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode))
        {
            continue; // another run may have removed it
        }
        if (each->path().filename().string().starts_with(NEW))
        {
            if (status.st_mtime < oldest)
            {
                ::unlink(path.c_str());
            }
            continue;
        }
        constexpr uint64_t BLOCK = 512;
        files.push_back({path, status.st_mtim, static_cast<uint64_t>(status.st_blocks) * BLOCK});
    }
    return files;
}

} // namespace

DiskStore::DiskStore(std::string directory, uint64_t limit)
    : m_directory(std::move(directory)),
      m_limit(limit / SHARES)
{
    Open();
}

void
DiskStore::Open() const
{
    std::error_code error;
    fs::create_directories(m_directory, error);
    if (std::error_code unknown;
        fs::exists(m_directory, unknown) && !fs::is_directory(m_directory, unknown))
    {
        throw ns3::InputError(m_directory, 0, "is not a directory", EXPECTED);
    }
    if (error || ::access(m_directory.c_str(), R_OK | W_OK | X_OK) != 0)
    {
        const int reason = error ? error.value() : errno;
        throw ns3::InputError(m_directory,
                              0,
                              std::string("cannot be used: ") + std::strerror(reason),
                              EXPECTED);
    }
    // Looked at in this order, as other runs may be making the same directory theirs.
    const bool isEmpty = std::all_of(fs::directory_iterator(m_directory),
                                     fs::directory_iterator(),
                                     [](const fs::directory_entry& each) {
                                         return each.path().filename().string().starts_with(NEW);
                                     });
    const std::string tag = m_directory + "/" + TAG;
    std::ifstream file(tag);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    if (text == TagText())
    {
        return;
    }
    const std::string kind = std::string(SIGNATURE) + std::string(KIND);
    if (text.starts_with(kind))
    {
        const std::string format =
            text.substr(kind.size(), text.find('\n', kind.size()) - kind.size());
        throw ns3::InputError(
            m_directory,
            0,
            fmt::format("is of another version of this program (format {})", format),
            fmt::format("format {}, or another directory", FORMAT));
    }
    if (!isEmpty)
    {
        throw ns3::InputError(m_directory, 0, "holds other files", EXPECTED);
    }
    const std::string own = TagText();
    if (const int reason = WriteWhole(tag, own.data(), own.size()))
    {
        throw ns3::InputError(m_directory,
                              0,
                              std::string("cannot be written: ") + std::strerror(reason),
                              EXPECTED);
    }
}

std::string
DiskStore::PathOf(uint32_t share) const
{
    return fmt::format("{}/{:x}", m_directory, share);
}

std::string
DiskStore::PathOf(const Key& key) const
{
    const std::string name = Sha256::ToHex(key);
    return m_directory + "/" + name.substr(0, 1) + "/" + name.substr(1);
}

void
DiskStore::WarnOnce(const std::string& what)
{
    if (!std::exchange(m_hasWarned, true))
    {
        m_warnings.push_back("--fast-forward-store: " + what);
    }
}

std::vector<std::string>
DiskStore::TakeWarnings()
{
    return std::exchange(m_warnings, {});
}

std::optional<ns3::QbbBytes>
DiskStore::Find(const Key& key)
{
    const std::string path = PathOf(key);
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
    {
        if (errno != ENOENT)
        {
            WarnOnce(fmt::format("{} cannot be read: {}", path, std::strerror(errno)));
        }
        return std::nullopt;
    }
    auto bytes = ReadAll(descriptor);
    ::futimens(descriptor, nullptr); // it was asked for now; if that fails, it goes earlier
    ::close(descriptor);
    constexpr std::size_t SUM = sizeof(Sha256::Value);
    if (bytes && bytes->size() >= SUM)
    {
        const Sha256::Value sum = ChecksumOf(key, bytes->data() + SUM, bytes->size() - SUM);
        if (std::memcmp(sum.data(), bytes->data(), SUM) == 0)
        {
            bytes->erase(bytes->begin(), bytes->begin() + SUM);
            return bytes;
        }
    }
    WarnOnce(path + " is damaged; what it held is simulated again");
    return std::nullopt;
}

void
DiskStore::Put(const Key& key, const ns3::QbbBytes& value)
{
    ns3::QbbBytes file;
    ns3::PutValue(file, ChecksumOf(key, value.data(), value.size()));
    ns3::PutMemory(file, value.data(), value.size());
    if (!m_canWrite || file.size() > m_limit)
    {
        return;
    }
    const uint32_t share = key[0] >> 4;
    MakeRoom(share, file.size());
    Write(PathOf(key), file);
}

void
DiskStore::Write(const std::string& path, const ns3::QbbBytes& file)
{
    int error = WriteWhole(path, file.data(), file.size());
    if (error == ENOENT) // the first of its share
    {
        const std::string share = fs::path(path).parent_path();
        const bool isThere = ::mkdir(share.c_str(), 0777) == 0 || errno == EEXIST;
        error = isThere ? WriteWhole(path, file.data(), file.size()) : errno;
    }
    if (error != 0)
    {
        m_canWrite = false;
        WarnOnce(fmt::format("{} cannot be written: {}; nothing more is kept",
                             m_directory,
                             std::strerror(error)));
    }
}

void
DiskStore::MakeRoom(uint32_t share, uint64_t bytes)
{
    // Looking at all files for each that is written would take long; between two looks a share
    // grows by no more than this.
    constexpr uint64_t BLOCK = 4096;
    const uint64_t spare = m_limit / 16;
    Share& known = m_shares[share];
    const uint64_t onDisk = (bytes + BLOCK - 1) / BLOCK * BLOCK;
    known.written += onDisk;
    if (known.isKnown && known.written <= spare)
    {
        return;
    }
    known = {true, onDisk};
    std::vector<Kept> files = FilesOf(PathOf(share));
    uint64_t total = std::max(onDisk, spare);
    for (const Kept& file : files)
    {
        total += file.bytes;
    }
    if (total <= m_limit)
    {
        return;
    }
    std::sort(files.begin(), files.end(), [](const Kept& a, const Kept& b) {
        return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
    });
    for (const Kept& file : files)
    {
        if (total <= m_limit)
        {
            break;
        }
        ::unlink(file.path.c_str()); // or another run has
        total -= file.bytes;
    }
}

} // namespace AstraSim

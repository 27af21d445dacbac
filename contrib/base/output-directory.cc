/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "output-directory.h"

#include "input-error.h"
#include "output-file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace ns3
{

namespace
{

namespace fs = std::filesystem;

/// Results that have the same name in every run.
constexpr auto RESULTS =
    std::to_array<std::string_view>({"EndToEnd.csv",
                                     "collectives.csv",
                                     "requests.csv",
                                     "inference.csv",
                                     "instances.csv",
                                     "caches.csv",
                                     "classes.csv",
                                     "scaling.csv",
                                     "timeline.json",
                                     "links.csv",
                                     "pauses.csv",
                                     "reordering.csv",
                                     "breakdown.svg",
                                     "fct.txt",
                                     "pfc.txt",
                                     "queue.txt",
                                     "qlen.txt",
                                     "bandwidth.txt",
                                     "rate.txt",
                                     "cnp.txt",
                                     "mix.tr",
                                     "passes.csv",
                                     "passes.json",
                                     "ncclFlowModel_EndToEnd.csv",
                                     "ncclFlowModel__dimension_utilization_0.csv"});

/// Those of which there may be several. A star stands for a number.
constexpr auto NUMBERED_RESULTS =
    std::to_array<std::string_view>({"EndToEnd.*.csv",
                                     "requests.*.csv",
                                     "inference.*.csv",
                                     "instances.*.csv",
                                     "caches.*.csv",
                                     "node-*-port-*.pcap",
                                     "ncclFlowModel_EndToEnd.*.csv",
                                     "ncclFlowModel__dimension_utilization_0.*.csv"});

/// A std::regex instead would take a tenth of a small run's instructions to compile.
bool
Matches(std::string_view name, std::string_view pattern)
{
    for (const char expected : pattern)
    {
        const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
        const std::size_t matching = expected == '*' ? digits : name.starts_with(expected);
        if (matching == 0)
        {
            return false;
        }
        name.remove_prefix(matching);
    }
    return name.empty();
}

bool
IsResult(const std::string& name, const std::vector<std::string>& others)
{
    return std::ranges::find(RESULTS, name) != RESULTS.end() ||
           std::ranges::any_of(NUMBERED_RESULTS,
                               [&name](auto pattern) { return Matches(name, pattern); }) ||
           std::ranges::any_of(others, [&name](const std::string& other) {
               return fs::path(other).filename() == name;
           });
}

} // namespace

OutputDirectory::OutputDirectory(const std::string& path, std::string prefix)
    : m_path(path),
      m_prefix(std::move(prefix))
{
    MakeOutputDirectory(path);
    if (!m_prefix.empty())
    {
        return;
    }
    m_descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    // Some file systems lock no directories; there the files alone keep others out.
    if (m_descriptor >= 0 && flock(m_descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    {
        close(m_descriptor);
        throw InputError(path,
                         0,
                         "is the output directory of a run that is still going on",
                         "an output directory for each run (-o)");
    }
}

OutputDirectory::~OutputDirectory()
{
    if (m_descriptor >= 0)
    {
        close(m_descriptor);
    }
}

std::string
OutputDirectory::Path(const std::string& name) const
{
    return (fs::path(m_path) / (m_prefix + name)).string();
}

bool
OutputDirectory::HasRecord() const
{
    std::error_code error;
    return fs::exists(Path("run.json"), error);
}

std::vector<std::string>
OutputDirectory::FilesThat(const auto& isMeant) const
{
    std::vector<std::string> files;
    std::error_code error;
    for (auto entry = fs::directory_iterator(m_path, error);
         !error && entry != fs::directory_iterator();
         entry.increment(error))
    {
        std::error_code unknown;
        const std::string name = entry->path().filename().string();
        if (name.starts_with(m_prefix) && !entry->is_directory(unknown) &&
            isMeant(name.substr(m_prefix.size())))
        {
            files.push_back(name);
        }
    }
    std::ranges::sort(files);
    return files;
}

void
OutputDirectory::RemoveEarlierResults(const std::vector<std::string>& names) const
{
    std::error_code error;
    for (const std::string& name : ListResults(names))
    {
        fs::remove(fs::path(m_path) / name, error);
    }
}

void
OutputDirectory::RemoveParts(const std::vector<std::string>& names) const
{
    const auto isPart = [&names](const std::string& name) {
        constexpr std::string_view SUFFIX = OutputFile::PART_SUFFIX;
        const std::size_t length = name.size() - std::min(name.size(), SUFFIX.size());
        const std::string whole = name.substr(0, length);
        return name.ends_with(SUFFIX) && (whole == "run.json" || IsResult(whole, names));
    };
    for (const std::string& name : FilesThat(isPart))
    {
        const std::string path = (fs::path(m_path) / name).string();
        const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        {
            std::error_code error;
            fs::remove(path, error);
        }
        close(descriptor);
    }
}

std::vector<std::string>
OutputDirectory::ListResults(const std::vector<std::string>& names) const
{
    return FilesThat([&names](const std::string& name) { return IsResult(name, names); });
}

} // namespace ns3

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-record.h"

#include "ns3/input-error.h"
#include "ns3/input-file.h"
#include "ns3/output-file.h"
#include "ns3/sha256.h"

#include <array>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

namespace AstraSim
{

namespace
{

/// @return the record of an earlier run; an empty object if it cannot be read
nlohmann::json
ReadRecord(const std::string& path)
{
    std::ifstream file(path);
    auto json = nlohmann::json::parse(file, nullptr, false);
    return json.is_object() ? json : nlohmann::json::object();
}

/// Write over a file that has room for the text. @return whether that was possible
bool
WriteOver(const std::string& path, const std::string& text)
{
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error) ||
        std::filesystem::file_size(path, error) < text.size())
    {
        return false;
    }
    const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    const auto length = static_cast<ssize_t>(text.size());
    const bool written = descriptor >= 0 && write(descriptor, text.data(), text.size()) == length &&
                         ftruncate(descriptor, length) == 0;
    close(descriptor);
    return written;
}

} // namespace

std::string
ProgramVersion()
{
    return PROGRAM_VERSION;
}

std::string
FileSha256(const std::string& path)
{
    const auto file = ns3::OpenInputFile(path);
    Sha256 sum;
    std::array<char, 65536> buffer;
    while (file->read(buffer.data(), buffer.size()) || file->gcount() > 0)
    {
        sum.Add(buffer.data(), static_cast<std::size_t>(file->gcount()));
    }
    return Sha256::ToHex(sum.Finish());
}

uint64_t
PeakMemoryBytes()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

RunRecord::RunRecord(std::string path)
    : m_path(std::move(path)),
      m_begin(std::chrono::steady_clock::now())
{
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    m_json["status"] = "running";
    m_json["version"] = ProgramVersion();
    m_json["host"] = host.data();
    std::error_code error; // a folder that has been removed has no name
    m_json["directory"] = std::filesystem::current_path(error).string();
    m_json["inputs"] = nlohmann::ordered_json::array();
    m_json["options"] = nlohmann::ordered_json::object();
}

void
RunRecord::AddInput(const std::string& role, const std::string& path)
{
    m_json["inputs"].push_back({{"role", role}, {"path", path}, {"sha256", FileSha256(path)}});
}

void
RunRecord::Write(const std::string& status)
{
    const std::lock_guard lock(m_mutex);
    m_json.erase("progress"); // it is over, or has not begun
    WriteAs(status);
}

void
RunRecord::WriteProgress(const nlohmann::ordered_json& progress)
{
    const std::lock_guard lock(m_mutex);
    m_json["progress"] = progress;
    try
    {
        WriteAs("running");
    }
    catch (const ns3::InputError&)
    {
        // The end of the run finds out, too.
    }
}

void
RunRecord::WriteAs(const std::string& status)
{
    m_json["status"] = status;
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - m_begin;
    m_json["wall_s"] = wall.count();
    m_json["peak_memory_bytes"] = PeakMemoryBytes();
    const auto text = [this](int indent) {
        // Names of files may hold any bytes, JSON may not.
        return m_json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
               "\n";
    };
    try
    {
        ns3::WriteWholeFile(m_path, text(2));
    }
    catch (const ns3::InputError&)
    {
        // Without indentation it is shorter than the record of the run's begin.
        if (!WriteOver(m_path, text(-1)))
        {
            throw;
        }
    }
}

std::string
RunRecord::StatusOf(const std::string& path)
{
    const auto json = ReadRecord(path);
    const auto status = json.find("status");
    return status != json.end() && status->is_string() ? status->get<std::string>() : "";
}

void
RunRecord::MarkFailed(const std::string& path, const std::string& reason)
{
    std::ifstream file(path);
    auto json = nlohmann::ordered_json::parse(file, nullptr, false);
    if (!json.is_object() || json["status"] != "running")
    {
        return;
    }
    json["status"] = "failed";
    json["reason"] = reason;
    // No OutputFile: its process's files may go nowhere, and several processes may do this at once.
    const std::string part = path + "." + std::to_string(getpid()) + ns3::OutputFile::PART_SUFFIX;
    std::ofstream(part) << json.dump(2) << "\n";
    std::error_code error;
    std::filesystem::rename(part, path, error);
}

std::vector<std::string>
RunRecord::OutputsOf(const std::string& path)
{
    const auto json = ReadRecord(path);
    std::vector<std::string> names;
    if (json.contains("outputs") && json["outputs"].is_array())
    {
        for (const auto& name : json["outputs"])
        {
            if (name.is_string())
            {
                names.push_back(name.get<std::string>());
            }
        }
    }
    return names;
}

} // namespace AstraSim

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RUN_RECORD_H
#define RUN_RECORD_H

#include <chrono>
#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace AstraSim
{

/// @return the version of this program
std::string ProgramVersion();

/// @return SHA-256 of a file in hexadecimal @throw ns3::InputError if it cannot be read
std::string FileSha256(const std::string& path);

/// @return the largest resident memory of this process so far, in bytes
uint64_t PeakMemoryBytes();

/**
 * @ingroup programs
 * @brief run.json: the inputs of a run, and how it went.
 *
 * A run writes it with status "running" before it simulates, so that a run that is killed cannot be
 * taken for one that finished.
 */
class RunRecord
{
  public:
    /// @param path of run.json, which Write() makes
    explicit RunRecord(std::string path);

    /// @return names of the files that the run with that run.json has written; none if it is not
    /// there or damaged
    static std::vector<std::string> OutputsOf(const std::string& path);

    /// @return the status in that run.json; empty if it is not there or damaged
    static std::string StatusOf(const std::string& path);

    /// Write "failed" into the record of a process that has died while its run was going on.
    /// @param path of that run.json @param reason for people
    static void MarkFailed(const std::string& path, const std::string& reason);

    /// Note an input file. @param role "workload", "topology", "configuration", ...
    void AddInput(const std::string& role, const std::string& path);

    /// Set a value: an option, or a result.
    template <typename T>
    void Set(const std::string& key, const T& value)
    {
        const std::lock_guard lock(m_mutex);
        m_json[key] = value;
    }

    /// Set an effective option.
    template <typename T>
    void SetOption(const std::string& key, const T& value)
    {
        m_json["options"][key] = value;
    }

    /// Write the file; over the one that is there if the disk is full.
    /// @param status "running", "finished", "stuck", "stopped", ...
    /// @throw ns3::InputError if it cannot be written
    void Write(const std::string& status);

    /// Write the file while the run goes on. May be called by another thread than the others; a
    /// disk that is full will be told by Write(). @param progress how far it is
    void WriteProgress(const nlohmann::ordered_json& progress);

  private:
    /// The rest of Write(), with the lock.
    void WriteAs(const std::string& status);

    std::mutex m_mutex; ///< of the values: another thread writes them while the run goes on
    std::string m_path;
    nlohmann::ordered_json m_json;
    std::chrono::steady_clock::time_point m_begin;
};

} // namespace AstraSim

#endif /* RUN_RECORD_H */

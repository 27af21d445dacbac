/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-record.h"

#include "ns3/input-error.h"

#include <array>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <openssl/evp.h>
#include <sys/resource.h>
#include <unistd.h>

namespace AstraSim
{

std::string
ProgramVersion()
{
    return PROGRAM_VERSION;
}

std::string
FileSha256(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);
    if (!file)
    {
        throw ns3::InputError(path, 0, "cannot be read", "a readable file");
    }
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                          &EVP_MD_CTX_free);
    EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr);
    std::array<char, 65536> buffer;
    while (file.read(buffer.data(), buffer.size()) || file.gcount() > 0)
    {
        EVP_DigestUpdate(context.get(), buffer.data(), static_cast<std::size_t>(file.gcount()));
    }
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned int length = 0;
    EVP_DigestFinal_ex(context.get(), digest.data(), &length);
    std::string text;
    for (unsigned int i = 0; i < length; ++i)
    {
        text += fmt::format("{:02x}", digest[i]);
    }
    return text;
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
    m_json["inputs"] = nlohmann::ordered_json::array();
    m_json["options"] = nlohmann::ordered_json::object();
    Write("running");
}

void
RunRecord::AddInput(const std::string& role, const std::string& path)
{
    m_json["inputs"].push_back({{"role", role}, {"path", path}, {"sha256", FileSha256(path)}});
}

void
RunRecord::Write(const std::string& status)
{
    m_json["status"] = status;
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - m_begin;
    m_json["wall_s"] = wall.count();
    m_json["peak_memory_bytes"] = PeakMemoryBytes();
    std::ofstream file(m_path, std::ios::trunc);
    file << m_json.dump(2) << "\n";
    file.flush();
    if (!file)
    {
        throw ns3::InputError(m_path, 0, "cannot be written", "a writable output directory");
    }
}

} // namespace AstraSim

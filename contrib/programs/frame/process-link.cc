/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "process-link.h"

#include "ended-process.h"
#include "ending-signals.h"
#include "program-flags.h"
#include "programs/mpi/mpi-link.h"

#include "ns3/output-file.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <string>
#include <thread>
#include <unistd.h>

namespace AstraSim
{

namespace
{

namespace fs = std::filesystem;

constexpr const char* LIBRARY = "simai-mpi.so";
/// The starter of the processes ends all of them once one has failed; the first is to say why.
constexpr std::chrono::seconds PATIENCE{2};
/// Time between two checks of the other processes. mpirun gives a second between SIGTERM and
/// SIGKILL.
constexpr std::chrono::milliseconds LOOK{50};

/// @return the value of an environment variable; 0 if it is none
uint32_t
NumberIn(const char* variable)
{
    const char* text = std::getenv(variable);
    uint32_t number = 0;
    if (text)
    {
        std::from_chars(text, text + std::strlen(text), number);
    }
    return number;
}

/// @return how many processes were started together with this one, itself included
uint32_t
CountStarted()
{
    for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"})
    {
        if (const uint32_t count = NumberIn(variable))
        {
            return count;
        }
    }
    // srun --mpi=pmix; without it, Slurm's tasks know nothing of each other.
    return std::getenv("PMIX_RANK") ? NumberIn("SLURM_NTASKS") : 0;
}

/// @return a name of this host and its numbering of processes, of which a container may have its
/// own
std::string
NameOfNumbering()
{
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    std::error_code error;
    return fmt::format("{} {}", host.data(), fs::read_symlink("/proc/self/ns/pid", error).string());
}

const SimAiMpiLink&
Load()
{
    std::error_code error;
    const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
    std::string why;
    for (const fs::path& path : {folder / LIBRARY, folder / "../lib/cluster-sim/mpi" / LIBRARY})
    {
        if (!fs::exists(path, error))
        {
            continue;
        }
        if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL))
        {
            using Get = const SimAiMpiLink* (*)();
            return *reinterpret_cast<Get>(dlsym(library, "GetSimAiMpiLink"))();
        }
        why = std::string(": ") + dlerror();
    }
    RefuseFlag(fmt::format("{} processes were started together and cannot be joined{}",
                           CountStarted(),
                           why),
               std::string(LIBRARY) + " beside the program, which is built where MPI "
                                      "(libopenmpi-dev) is installed");
}

/// Processes that MPI joins.
class MpiProcesses final : public ns3::QbbProcesses
{
  public:
    MpiProcesses()
        : m_link(Load())
    {
        // MPI's own threads must not take the signals that end a run.
        const sigset_t signals = EndingSignals();
        sigset_t before;
        pthread_sigmask(SIG_BLOCK, &signals, &before);
        m_link.join(&m_rank, &m_count);
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        ns3::QbbProcesses::Set(this);
        if (m_rank > 0)
        {
            std::cout.rdbuf(nullptr);
            std::cerr.rdbuf(nullptr);
            ns3::OutputFile::DiscardAll();
        }
        FindNeighbours();
    }

    ~MpiProcesses() override
    {
        ns3::QbbProcesses::Set(nullptr);
        if (std::uncaught_exceptions() == 0)
        {
            m_link.leave();
        }
        else if (m_rank > 0)
        {
            std::this_thread::sleep_for(PATIENCE);
        }
    }

    uint32_t GetRank() const override
    {
        return m_rank;
    }

    uint32_t GetCount() const override
    {
        return m_count;
    }

    void Exchange(const std::vector<ns3::QbbBytes>& outgoing,
                  std::vector<ns3::QbbBytes>& incoming) override
    {
        m_data.clear();
        m_sizes.clear();
        for (const ns3::QbbBytes& bytes : outgoing)
        {
            m_data.push_back(bytes.data());
            m_sizes.push_back(bytes.size());
        }
        incoming.resize(m_count);
        incoming[m_rank].clear();
        m_incoming = &incoming;
        const auto room = [](void* arg, uint32_t process, uint64_t bytes) -> void* {
            auto& all = *static_cast<MpiProcesses*>(arg)->m_incoming;
            all[process].resize(bytes);
            return all[process].data();
        };
        const auto wait = [](void* arg) { static_cast<MpiProcesses*>(arg)->LookForLost(); };
        m_link.exchange(m_data.data(), m_sizes.data(), room, wait, this);
    }

  private:
    /// A process of this host.
    struct Neighbour
    {
        uint32_t process;
        int64_t pid;
    };

    void FindNeighbours()
    {
        const std::string name = NameOfNumbering();
        ns3::QbbBytes own;
        ns3::PutValue(own, int64_t{getpid()});
        ns3::PutValues(own, name);
        const std::vector<ns3::QbbBytes> all = GatherAll(own);
        for (uint32_t process = 0; process < m_count; ++process)
        {
            ns3::QbbByteReader reader(all[process]);
            const auto pid = reader.Get<int64_t>();
            if (process != m_rank && reader.GetValues<std::string>() == name)
            {
                m_neighbours.push_back({process, pid});
            }
        }
    }

    /// MPI does not tell that a process has died; its starter kills the others a moment later.
    void LookForLost()
    {
        const auto now = std::chrono::steady_clock::now();
        if (now - m_looked < LOOK)
        {
            return;
        }
        m_looked = now;
        for (const auto& [process, pid] : m_neighbours)
        {
            if (HasProcessEnded(pid))
            {
                throw LostProcess(process);
            }
        }
    }

    const SimAiMpiLink& m_link;
    uint32_t m_rank{0};
    uint32_t m_count{1};
    std::vector<const void*> m_data;
    std::vector<uint64_t> m_sizes;
    std::vector<ns3::QbbBytes>* m_incoming{nullptr}; ///< of the exchange under way
    std::vector<Neighbour> m_neighbours;
    std::chrono::steady_clock::time_point m_looked;
};

} // namespace

std::unique_ptr<ns3::QbbProcesses>
JoinProcesses()
{
    return CountStarted() > 1 ? std::make_unique<MpiProcesses>() : nullptr;
}

void
NeedOneProcess(const std::string& what)
{
    if (const ns3::QbbProcesses* processes = ns3::QbbProcesses::Get())
    {
        RefuseFlag(fmt::format("{} runs in one process, and {} were started together",
                               what,
                               processes->GetCount()),
                   "one process, without mpirun");
    }
}

} // namespace AstraSim

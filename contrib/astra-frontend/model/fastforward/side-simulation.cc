/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "side-simulation.h"

#include "pattern-bytes.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace AstraSim
{

namespace
{

/// @return whether all bytes could be moved; false at the end of the other side
template <typename Call>
bool
MoveAll(Call call, char* bytes, std::size_t count)
{
    while (count > 0)
    {
        const ssize_t moved = call(bytes, count);
        if (moved < 0 && errno == EINTR)
        {
            continue;
        }
        if (moved <= 0)
        {
            return false;
        }
        bytes += moved;
        count -= static_cast<std::size_t>(moved);
    }
    return true;
}

bool
SendBlock(int socket, std::string block)
{
    uint64_t size = block.size();
    const auto send = [socket](char* bytes, std::size_t count) {
        return ::send(socket, bytes, count, MSG_NOSIGNAL);
    };
    return MoveAll(send, reinterpret_cast<char*>(&size), sizeof(size)) &&
           MoveAll(send, block.data(), block.size());
}

/// @return nothing at the end of the other side
std::optional<std::string>
ReceiveBlock(int socket)
{
    uint64_t size = 0;
    const auto receive = [socket](char* bytes, std::size_t count) {
        return ::read(socket, bytes, count);
    };
    if (!MoveAll(receive, reinterpret_cast<char*>(&size), sizeof(size)))
    {
        return std::nullopt;
    }
    std::string block(size, '\0');
    if (!MoveAll(receive, block.data(), block.size()))
    {
        return std::nullopt;
    }
    return block;
}

/// The files of the run are the run's: what a copy writes to them goes nowhere.
void
LetGoOfFiles(int socket)
{
    const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    std::vector<int> open;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    {
        open.push_back(std::stoi(entry.path().filename().string()));
    }
    for (const int file : open)
    {
        if (file != socket && file != nowhere && file != STDERR_FILENO)
        {
            ::dup2(nowhere, file); // fails where the listing itself was open
        }
    }
}

} // namespace

/// The copy that simulates one pattern.
class SideSimulation::Copy
{
  public:
    Copy(const Setup& setup, const std::vector<OwnedOperation>& pattern, int socket)
        : m_setup(setup),
          m_pattern(pattern),
          m_socket(socket)
    {
        for (const OwnedOperation& timed : pattern)
        {
            m_outcome.ends.emplace_back(timed.starts.size(), NO_TIME);
            m_ranks.emplace_back(timed.starts.size());
        }
    }

    [[noreturn]] void Run()
    {
        for (uint32_t operation = 0; operation < m_pattern.size(); ++operation)
        {
            const auto& starts = m_pattern[operation].starts;
            if (HasBegun(starts))
            {
                m_expected += starts.size();
            }
            else if (!NeedsAllRanks(m_pattern[operation].operation.request.op))
            {
                ++m_expected; // nobody knows which of its ranks will end: all that can happen does
            }
            for (uint32_t rank = 0; rank < starts.size(); ++rank)
            {
                if (starts[rank] != NO_TIME)
                {
                    Schedule(operation, rank, starts[rank]);
                }
            }
        }
        m_setup.run();
        Report();
    }

  private:
    /// A rank of an operation, as an argument of handlers.
    struct Place
    {
        Copy* copy;
        uint32_t operation;
        uint32_t rank;
    };

    static bool HasBegun(const std::vector<TimePs>& starts)
    {
        return std::find(starts.begin(), starts.end(), NO_TIME) == starts.end();
    }

    RankNetwork& NetworkOf(const Place& place) const
    {
        return m_setup.network(m_pattern[place.operation].operation.group.ranks[place.rank]);
    }

    void Schedule(uint32_t operation, uint32_t rank, TimePs start)
    {
        auto& place = m_places.emplace_back(std::make_unique<Place>(Place{this, operation, rank}));
        NetworkOf(*place).Schedule(
            start,
            [](void* arg) {
                auto& begun = *static_cast<Place*>(arg);
                begun.copy->Begin(begun);
            },
            place.get());
    }

    void Begin(Place& place)
    {
        const PartOperation& operation = m_pattern[place.operation].operation;
        const int tag = static_cast<int>(place.operation) * TAGS;
        if (operation.isMessage)
        {
            BeginMessage(place, operation, tag);
            return;
        }
        auto& plan = m_plans[place.operation];
        if (!plan)
        {
            plan = m_setup.nccl->Plan(operation.group, operation.request);
        }
        auto& rank = m_ranks[place.operation][place.rank];
        rank = plan->CreateRank(place.rank, NetworkOf(place), tag, operation.info, [this, &place] {
            End(place);
        });
        rank->Start();
    }

    void BeginMessage(Place& place, const PartOperation& operation, int tag)
    {
        const auto ended = [](void* arg) {
            auto& over = *static_cast<Place*>(arg);
            over.copy->End(over);
        };
        MessageInfo info = operation.info;
        info.stream = nullptr;
        const uint64_t bytes = operation.request.bytes;
        const int src = operation.group.ranks[0];
        const int dst = operation.group.ranks[1];
        if (place.rank == 0)
        {
            NetworkOf(place).Send({.dst = dst,
                                   .tag = tag,
                                   .bytes = bytes,
                                   .info = &info,
                                   .handler = ended,
                                   .arg = &place});
        }
        else
        {
            NetworkOf(place).Receive({.src = src,
                                      .tag = tag,
                                      .bytes = bytes,
                                      .info = &info,
                                      .handler = ended,
                                      .arg = &place});
        }
    }

    void End(const Place& place)
    {
        const auto& starts = m_pattern[place.operation].starts;
        m_outcome.ends[place.operation][place.rank] = NetworkOf(place).Now();
        if (HasBegun(starts) && --m_expected == 0)
        {
            Report();
        }
    }

    [[noreturn]] void Report()
    {
        m_outcome.traffic = m_setup.carried();
        const bool sent = SendBlock(m_socket, ToBytes(m_outcome));
        ::_exit(sent ? 0 : 1);
    }

    static constexpr int TAGS = 256; ///< of an operation

    const Setup& m_setup;
    const std::vector<OwnedOperation>& m_pattern;
    int m_socket;
    std::size_t m_expected{0}; ///< ends of operations that all ranks have begun
    PartOutcome m_outcome;
    std::vector<std::unique_ptr<Place>> m_places;
    std::map<uint32_t, std::shared_ptr<const CollectivePlan>> m_plans;
    std::vector<std::vector<std::unique_ptr<RankCollective>>> m_ranks;
};

SideSimulation::SideSimulation(Setup setup)
    : m_setup(std::move(setup))
{
}

SideSimulation::~SideSimulation()
{
    if (m_socket >= 0)
    {
        ::close(m_socket); // the copy ends when it reads on
    }
    if (m_server > 0)
    {
        ::waitpid(m_server, nullptr, 0);
    }
}

void
SideSimulation::Start()
{
    int ends[2];
    const bool connected = ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0;
    std::cout.flush();
    m_server = connected ? ::fork() : -1;
    if (m_server < 0)
    {
        throw ns3::InputError("--fast-forward",
                              0,
                              std::string("no copy of the process can be made (") +
                                  std::strerror(errno) + ")",
                              "a machine that allows another process and its memory");
    }
    if (m_server == 0)
    {
        ::close(ends[0]);
        Serve(ends[1]);
    }
    ::close(ends[1]);
    m_socket = ends[0];
}

void
SideSimulation::Serve(int socket)
{
    LetGoOfFiles(socket);
    while (const auto block = ReceiveBlock(socket))
    {
        const std::vector<OwnedOperation> pattern = PatternFromBytes(*block);
        const pid_t copy = ::fork();
        if (copy == 0)
        {
            try
            {
                Copy(m_setup, pattern, socket).Run();
            }
            catch (const std::exception& error)
            {
                std::cerr << error.what() << "\n";
                ::_exit(1);
            }
        }
        int status = 0;
        const bool ended = copy > 0 && ::waitpid(copy, &status, 0) == copy;
        if (!ended || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        {
            SendBlock(socket, "");
        }
    }
    ::_exit(0);
}

PartOutcome
SideSimulation::Simulate(const PartPattern& pattern)
{
    const auto answer = SendBlock(m_socket, ToBytes(pattern)) ? ReceiveBlock(m_socket)
                                                              : std::optional<std::string>();
    if (!answer || answer->empty())
    {
        throw ns3::InputError("--fast-forward",
                              0,
                              "the simulation of a part of the network failed",
                              "a run that works without the flag");
    }
    return OutcomeFromBytes(*answer);
}

} // namespace AstraSim

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "side-simulation.h"

#include "pattern-bytes.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
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
SendBlock(int socket, ns3::QbbBytes block)
{
    uint64_t size = block.size();
    const auto send = [socket](char* bytes, std::size_t count) {
        return ::send(socket, bytes, count, MSG_NOSIGNAL);
    };
    return MoveAll(send, reinterpret_cast<char*>(&size), sizeof(size)) &&
           MoveAll(send, reinterpret_cast<char*>(block.data()), block.size());
}

/// @return nothing at the end of the other side
std::optional<ns3::QbbBytes>
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
    ns3::QbbBytes block(size);
    if (!MoveAll(receive, reinterpret_cast<char*>(block.data()), block.size()))
    {
        return std::nullopt;
    }
    return block;
}

/// @return whether the other side asks next for more of the same, which is left to be received
bool
AsksForMore(int socket)
{
    char begin[sizeof(uint64_t) + 1]; // the size of the block, and its first byte
    ssize_t peeked = -1;
    do
    {
        peeked = ::recv(socket, begin, sizeof(begin), MSG_PEEK | MSG_WAITALL);
        // A part of it may be there first: the rest is on its way.
    } while (peeked < 0 ? errno == EINTR
                        : peeked > 0 && peeked < static_cast<ssize_t>(sizeof(begin)));
    return peeked == sizeof(begin) && begin[sizeof(uint64_t)] != 0;
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
    Copy(const Setup& setup, const OwnedPattern& pattern, int socket)
        : m_setup(setup),
          m_gaps(pattern.repetition.gaps),
          m_socket(socket)
    {
        for (const OwnedOperation& timed : pattern.operations)
        {
            Add(timed.operation, timed.starts);
        }
    }

    [[noreturn]] void Run()
    {
        for (uint32_t operation = 0; operation < m_operations.size(); ++operation)
        {
            const auto& starts = m_operations[operation].starts;
            if (HasBegun(starts))
            {
                m_expected += starts.size();
            }
            else if (!NeedsAllRanks(m_operations[operation].what->request.op))
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
        if (Repeats())
        {
            ::_exit(1); // nothing is left to happen, yet ranks wait
        }
        Report();
    }

  private:
    /// An operation of the pattern, or one of the times that its only one is carried out.
    struct Simulated
    {
        const PartOperation* what;
        std::vector<TimePs> starts;
        std::vector<TimePs> ends;
        std::size_t left;       ///< ranks that have not ended
        CarriedTraffic carried; ///< since the one before was over
        std::shared_ptr<const CollectivePlan> plan;
        std::vector<std::unique_ptr<RankCollective>> ranks;
    };

    /// A rank of an operation, as an argument of handlers.
    struct Place
    {
        Copy* copy;
        uint32_t operation;
        uint32_t rank;
    };

    void Add(const PartOperation& what, const std::vector<TimePs>& starts)
    {
        const std::size_t ranks = starts.size();
        auto& added = m_operations.emplace_back();
        added.what = &what;
        added.starts = starts;
        added.ends.assign(ranks, NO_TIME);
        added.left = ranks;
        added.ranks.resize(ranks);
    }

    bool Repeats() const
    {
        return !m_gaps.empty();
    }

    static bool HasBegun(const std::vector<TimePs>& starts)
    {
        return std::find(starts.begin(), starts.end(), NO_TIME) == starts.end();
    }

    RankNetwork& NetworkOf(const Place& place) const
    {
        return m_setup.network(m_operations[place.operation].what->group.ranks[place.rank]);
    }

    void Schedule(uint32_t operation, uint32_t rank, TimePs delay)
    {
        auto& place = m_places.emplace_back(std::make_unique<Place>(Place{this, operation, rank}));
        NetworkOf(*place).Schedule(
            delay,
            [](void* arg) {
                auto& begun = *static_cast<Place*>(arg);
                begun.copy->Begin(begun);
            },
            place.get());
    }

    void Begin(Place& place)
    {
        Simulated& simulated = m_operations[place.operation];
        const PartOperation& operation = *simulated.what;
        const int tag = static_cast<int>(place.operation) * TAGS;
        simulated.starts[place.rank] = NetworkOf(place).Now();
        if (operation.isMessage)
        {
            BeginMessage(place, operation, tag);
            return;
        }
        if (!simulated.plan)
        {
            simulated.plan = m_setup.nccl->Plan(operation.group, operation.request);
        }
        auto& rank = simulated.ranks[place.rank];
        rank = simulated.plan->CreateRank(place.rank,
                                          NetworkOf(place),
                                          tag,
                                          operation.info,
                                          [this, &place] { End(place); });
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
        Simulated& simulated = m_operations[place.operation];
        simulated.ends[place.rank] = NetworkOf(place).Now();
        --simulated.left;
        if (Repeats())
        {
            BeginAgain(place);
        }
        else if (HasBegun(simulated.starts) && --m_expected == 0)
        {
            Report();
        }
    }

    void BeginAgain(const Place& place)
    {
        const uint32_t next = place.operation + 1;
        if (next == m_operations.size())
        {
            const Simulated& last = m_operations.back();
            Add(*last.what, std::vector<TimePs>(last.starts.size(), NO_TIME));
        }
        Schedule(next, place.rank, m_gaps[place.rank]);
        Simulated& over = m_operations[place.operation];
        if (over.left > 0)
        {
            return;
        }
        over.carried = m_setup.carried();
        over.carried -= m_carried;
        m_carried += over.carried;
        if (place.operation > 0)
        {
            m_operations[place.operation - 1].ranks.clear();
        }
        const bool sent = SendBlock(m_socket, ToBytes({over.starts, {{over.ends}, over.carried}}));
        if (!sent || !AsksForMore(m_socket))
        {
            ::_exit(sent ? 0 : 1);
        }
        ReceiveBlock(m_socket);
    }

    [[noreturn]] void Report()
    {
        PartRound only;
        only.outcome.traffic = m_setup.carried();
        for (const Simulated& each : m_operations)
        {
            only.outcome.ends.push_back(each.ends);
        }
        const bool sent = SendBlock(m_socket, ToBytes(only));
        ::_exit(sent ? 0 : 1);
    }

    static constexpr int TAGS = 256; ///< of an operation

    const Setup& m_setup;
    const std::vector<TimePs>& m_gaps; ///< by rank, if the operation is repeated
    CarriedTraffic m_carried;          ///< until the last of the times that are over
    int m_socket;
    std::size_t m_expected{0}; ///< ends of operations that all ranks have begun
    std::deque<Simulated> m_operations;
    std::vector<std::unique_ptr<Place>> m_places;
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
        const OwnedPattern pattern = PatternFromBytes(*block);
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
            SendBlock(socket, {});
        }
    }
    ::_exit(0);
}

PartOutcome
SideSimulation::Simulate(const PartPattern& pattern)
{
    m_repeats = false;
    return std::move(Ask(pattern, {}).outcome);
}

PartRound
SideSimulation::Repeat(const TimedOperation& first, const std::vector<TimePs>& gaps)
{
    PartRound round = Ask({first}, {.goesOn = false, .gaps = gaps});
    m_repeats = true;
    ++m_repetitions;
    return round;
}

PartRound
SideSimulation::GoOn()
{
    return Ask({}, {.goesOn = true, .gaps = {}});
}

PartRound
SideSimulation::Ask(const PartPattern& pattern, const Repetition& repetition)
{
    const auto answer = SendBlock(m_socket, ToBytes(pattern, repetition))
                            ? ReceiveBlock(m_socket)
                            : std::optional<ns3::QbbBytes>();
    if (!answer || answer->empty())
    {
        throw ns3::InputError("--fast-forward",
                              0,
                              "the simulation of a part of the network failed",
                              "a run that works without the flag");
    }
    return RoundFromBytes(*answer);
}

} // namespace AstraSim

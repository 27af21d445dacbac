/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "side-simulation.h"

#include "astra-frontend/model/fastforward/patterns/move-bytes.h"
#include "astra-frontend/model/fastforward/patterns/operation-begin.h"
#include "astra-frontend/model/fastforward/patterns/pattern-bytes.h"
#include "heap-at-fork.h"

#include "ns3/input-error.h"
#include "ns3/qbb-call.h"
#include "ns3/qbb-partitions.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <memory>
#include <mutex>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace AstraSim
{

namespace
{

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

/**
 * The copy that simulates one pattern. On a network that is divided, ranks begin and end on the
 * threads of their partitions: what concerns all of them is told between two windows
 * (QbbPartitions::Tell()), and what is asked of the whole network is asked when every partition has
 * come to the same time (QbbPartitions::React()).
 */
class SideSimulation::Copy : public ns3::QbbAddressee
{
  public:
    /**
     * @param socket where what came of the pattern is reported
     * @param more where more that begins is told; -1 if nothing can be
     */
    Copy(const Setup& setup, const OwnedPattern& pattern, int socket, int more)
        : m_setup(setup),
          m_gaps(pattern.repetition.gaps),
          m_socket(socket),
          m_more(more)
    {
        TakeIn(pattern);
    }

    [[noreturn]] void Run()
    {
        if (m_more >= 0)
        {
            BeginNext();
        }
        else
        {
            for (Place* place : m_pending)
            {
                Schedule(*place, StartOf(*place));
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
    struct Simulated;

    /// A rank of an operation, as an argument of handlers.
    struct Place
    {
        Copy* copy;
        Simulated* operation;
        uint32_t rank;
    };

    /// An operation of the pattern, or one of the times that its only one is carried out.
    struct Simulated
    {
        const PartOperation* what;
        uint32_t number;
        std::vector<TimePs> starts;
        std::vector<TimePs> ends;
        std::size_t left;                                         ///< ranks that have not ended
        std::vector<std::shared_ptr<const CollectivePlan>> plans; ///< by partition
        std::vector<std::unique_ptr<RankCollective>> ranks;
        std::vector<Place> places;

        bool HasBegun() const
        {
            return std::find(starts.begin(), starts.end(), NO_TIME) == starts.end();
        }
    };

    /// A rank tells that it is through.
    struct Ended
    {
        uint32_t operation;

        void operator()(Copy& copy) const
        {
            copy.NoteEnd(copy.At(operation));
        }
    };

    static TimePs StartOf(const Place& place)
    {
        return place.operation->starts[place.rank];
    }

    /// Take in what is not known yet of a pattern. @param pattern outlives the object
    void TakeIn(const OwnedPattern& pattern)
    {
        for (std::size_t i = 0; i < pattern.operations.size(); ++i)
        {
            const auto& [operation, starts] = pattern.operations[i];
            const std::vector<TimePs> none(starts.size(), NO_TIME);
            Simulated& simulated = i < m_operations.size() ? m_operations[i] : Add(operation, none);
            for (uint32_t rank = 0; rank < starts.size(); ++rank)
            {
                if (simulated.starts[rank] == NO_TIME && starts[rank] != NO_TIME)
                {
                    simulated.starts[rank] = starts[rank];
                    m_pending.push_back(&simulated.places[rank]);
                }
            }
        }
        m_expected = 0;
        for (const Simulated& operation : m_operations)
        {
            // Of one that not all have begun, nobody knows which ranks will end: all that can
            // happen does.
            m_expected += operation.HasBegun()             ? operation.left
                          : NeedsAllRanks(*operation.what) ? 0
                                                           : 1;
        }
    }

    /// Have the ranks begin that are next, and then those after them. Each is scheduled when those
    /// before it begin, so that it makes no difference when it became known.
    void BeginNext()
    {
        const auto earlier = [](const Place* a, const Place* b) {
            return StartOf(*a) < StartOf(*b);
        };
        std::stable_sort(m_pending.begin(), m_pending.end(), earlier);
        const auto later =
            std::upper_bound(m_pending.begin(), m_pending.end(), m_pending[0], earlier);
        Place& first = *m_pending.front();
        const TimePs delay = StartOf(first) - NetworkOf(first).Now();
        std::for_each(m_pending.begin(), later, [this, delay](Place* place) {
            Schedule(*place, delay);
        });
        m_pending.erase(m_pending.begin(), later);
        NetworkOf(first).Schedule(
            delay,
            [](void* arg) {
                auto& copy = *static_cast<Copy*>(arg);
                if (copy.m_pending.empty())
                {
                    copy.WaitForMore();
                }
                else
                {
                    copy.BeginNext();
                }
            },
            this);
    }

    /// Let a copy of this one simulate the rest, and wait for what else begins until then.
    void WaitForMore()
    {
        const pid_t rest = ::fork();
        if (rest == 0)
        {
            ::close(m_more);
            return;
        }
        int status = 0;
        const bool ended = rest > 0 && ::waitpid(rest, &status, 0) == rest;
        const bool isFine = ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        const bool told = isFine && ::send(m_more, "", 1, MSG_NOSIGNAL) == 1;
        const auto block = told ? ReceiveBlock(m_more) : std::nullopt;
        if (!block)
        {
            ::_exit(told ? 0 : 1);
        }
        TakeIn(m_longer.emplace_back(PatternFromBytes(*block)));
        BeginNext();
    }

    Simulated& Add(const PartOperation& what, const std::vector<TimePs>& starts)
    {
        const std::size_t ranks = starts.size();
        const auto number = static_cast<uint32_t>(m_operations.size());
        Simulated& added = m_operations.emplace_back();
        added.what = &what;
        added.number = number;
        added.starts = starts;
        added.ends.assign(ranks, NO_TIME);
        added.left = ranks;
        added.ranks.resize(ranks);
        for (uint32_t rank = 0; rank < ranks; ++rank)
        {
            added.places.push_back({this, &added, rank});
            const std::size_t partition = m_setup.partition(what.group.ranks[rank]);
            added.plans.resize(std::max(added.plans.size(), partition + 1));
        }
        return added;
    }

    Simulated& At(uint32_t number)
    {
        const std::lock_guard lock(m_growing);
        return m_operations[number];
    }

    /// @return the time after this one; the first rank that comes to it makes it
    Simulated& After(const Simulated& operation)
    {
        const std::lock_guard lock(m_growing);
        const uint32_t next = operation.number + 1;
        return next < m_operations.size()
                   ? m_operations[next]
                   : Add(*operation.what, std::vector<TimePs>(operation.ends.size(), NO_TIME));
    }

    bool Repeats() const
    {
        return !m_gaps.empty();
    }

    int RankOf(const Place& place) const
    {
        return place.operation->what->group.ranks[place.rank];
    }

    RankNetwork& NetworkOf(const Place& place) const
    {
        return m_setup.network(RankOf(place));
    }

    void Schedule(Place& place, TimePs delay) const
    {
        NetworkOf(place).Schedule(
            delay,
            [](void* arg) {
                auto& begun = *static_cast<Place*>(arg);
                begun.copy->Begin(begun);
            },
            &place);
    }

    void Begin(Place& place)
    {
        Simulated& simulated = *place.operation;
        const PartOperation& operation = *simulated.what;
        simulated.starts[place.rank] = NetworkOf(place).Now();
        const uint32_t partition = m_setup.partition(RankOf(place));
        auto& plan = simulated.plans[partition];
        if (!plan && !operation.isMessage)
        {
            plan = m_setup.nccl(partition).Plan(operation.group, operation.request);
        }
        const auto ended = [](void* arg) {
            auto& over = *static_cast<Place*>(arg);
            over.copy->End(over);
        };
        simulated.ranks[place.rank] = BeginOperation({operation, simulated.number, place.rank},
                                                     NetworkOf(place),
                                                     plan.get(),
                                                     ended,
                                                     &place);
    }

    void End(const Place& place)
    {
        Simulated& simulated = *place.operation;
        simulated.ends[place.rank] = NetworkOf(place).Now();
        if (Repeats())
        {
            Schedule(After(simulated).places[place.rank], m_gaps[place.rank]);
        }
        ns3::QbbPartitions::Tell(*this, Ended{simulated.number});
    }

    void NoteEnd(Simulated& operation)
    {
        const bool isOver = --operation.left == 0;
        if (Repeats())
        {
            if (isOver)
            {
                ns3::QbbPartitions::React([this, &operation] { ReportRound(operation); });
            }
        }
        else if (operation.HasBegun() && --m_expected == 0)
        {
            ns3::QbbPartitions::React([this] { Report(); });
        }
    }

    /// Report one of the times that the operation is carried out, and wait for what is asked next.
    void ReportRound(Simulated& over)
    {
        ns3::CarriedTraffic carried = m_setup.carried();
        carried -= m_carried;
        m_carried += carried;
        if (over.number > 0)
        {
            At(over.number - 1).ranks.clear();
        }
        const bool sent = SendBlock(m_socket, ToBytes({over.starts, {{over.ends}, carried}}));
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

    const Setup& m_setup;
    const std::vector<TimePs>& m_gaps; ///< by rank, if the operation is repeated
    ns3::CarriedTraffic m_carried;     ///< until the last of the times that are over
    int m_socket;
    int m_more;
    std::deque<OwnedPattern> m_longer; ///< those that became known later
    std::vector<Place*> m_pending;     ///< ranks that are not scheduled yet
    std::size_t m_expected{0};         ///< ends of operations that all ranks have begun
    std::deque<Simulated> m_operations;
    std::mutex m_growing; ///< held by whoever looks something up in m_operations
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
    HeapAtFork heap;
    m_server = connected ? ::fork() : -1;
    const bool isWhole = heap.Keep();
    if (m_server == 0 && !isWhole)
    {
        ::_exit(1);
    }
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
    {
        WaitingCopies waiting;
        bool isWatched = true;
        while (const auto block = ReceiveBlock(socket))
        {
            if (std::exchange(isWatched, false))
            {
                m_setup.unwatch(); // now that it is needed: it takes memory of its own
            }
            const OwnedPattern pattern = PatternFromBytes(*block);
            const bool mayGoOn = m_setup.isOneThread && pattern.repetition.gaps.empty();
            if (!(mayGoOn ? SimulateOn(pattern, *block, socket, waiting)
                          : SimulateOnce(pattern, socket)))
            {
                SendBlock(socket, {});
            }
        }
    }
    ::_exit(0);
}

void
SideSimulation::RunCopy(const OwnedPattern& pattern, int socket, int more)
{
    try
    {
        Copy(m_setup, pattern, socket, more).Run();
    }
    catch (const std::exception& error)
    {
        std::cerr << error.what() << "\n";
        ::_exit(1);
    }
}

bool
SideSimulation::SimulateOnce(const OwnedPattern& pattern, int socket)
{
    const pid_t copy = ::fork();
    if (copy == 0)
    {
        RunCopy(pattern, socket, -1);
    }
    int status = 0;
    const bool ended = copy > 0 && ::waitpid(copy, &status, 0) == copy;
    return ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool
SideSimulation::SimulateOn(const OwnedPattern& pattern,
                           const ns3::QbbBytes& block,
                           int socket,
                           WaitingCopies& waiting)
{
    WaitingCopies::Copy* copy = waiting.Find(pattern);
    if (copy)
    {
        SendBlock(copy->socket, block);
        waiting.Extend(*copy, pattern);
    }
    else
    {
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        {
            return false;
        }
        const pid_t process = ::fork();
        if (process == 0)
        {
            ::close(ends[0]);
            waiting.LetGo();
            RunCopy(pattern, socket, ends[1]);
        }
        ::close(ends[1]);
        if (process < 0)
        {
            ::close(ends[0]);
            return false;
        }
        copy = &waiting.Add(process, ends[0], pattern);
    }
    char done = 0;
    const auto receive = [&](char* bytes, std::size_t count) {
        return ::read(copy->socket, bytes, count);
    };
    if (!MoveAll(receive, &done, 1))
    {
        waiting.Remove(*copy); // it has ended, or is about to
        return false;
    }
    return true;
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

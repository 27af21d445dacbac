/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "side-simulation.h"

#include "astra-frontend/model/fastforward/patterns/move-bytes.h"
#include "astra-frontend/model/fastforward/patterns/operation-begin.h"
#include "astra-frontend/model/fastforward/patterns/pattern-bytes.h"

#include "ns3/input-error.h"
#include "ns3/qbb-call.h"
#include "ns3/qbb-mail.h"

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

// Start() forks a server, before the run touches the network; it keeps the untouched network and
// reads patterns from a socket. For each pattern it forks a Copy, which begins the pattern's
// ranks at their times, runs the clock until all expected ends have come, writes the outcome to
// the same socket and exits. On one thread a copy also serves patterns that continue its own: at
// the last start it forks once more (WaitForMore). The child simulates the rest and reports; the
// parent waits at this time for a longer pattern, takes in its additional starts and goes on.
// Starts are scheduled one after the other (BeginNext), so a pattern known from the beginning
// and one that grew have the same order of events. With several threads, fork() would lose the
// threads, so copies do not wait.

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

/// Replace the files of the run by /dev/null, so that a copy does not write to them.
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
            ::dup2(nowhere, file); // fails for the descriptor of the listing, closed by now
        }
    }
}

} // namespace

/**
 * The copy that simulates one pattern. On a network that is divided, ranks begin and end on the
 * threads of their partitions: their ends are noted between two windows (QbbMail::Note()), and
 * questions to the whole network wait until every partition has come to the same time
 * (QbbMail::Post()).
 */
class SideSimulation::Copy : public ns3::QbbAddressee
{
  public:
    /**
     * @param socket for the outcome
     * @param more for patterns that begin in the same way; -1 if there will be none
     */
    Copy(const Setup& setup, const OwnedPattern& pattern, int socket, int more)
        : m_setup(setup),
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

    /// An operation of the pattern.
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
            return std::ranges::find(starts, NO_TIME) == starts.end();
        }
    };

    /// Tells all partitions that a rank has ended.
    struct Ended
    {
        uint32_t operation;

        void operator()(Copy& copy) const
        {
            copy.NoteEnd(copy.m_operations[operation]);
        }
    };

    static TimePs StartOf(const Place& place)
    {
        return place.operation->starts[place.rank];
    }

    /// Take in the operations and starts of a pattern that are new. @param pattern outlives the
    /// object
    void TakeIn(const OwnedPattern& pattern)
    {
        for (std::size_t i = 0; i < pattern.size(); ++i)
        {
            const auto& [operation, starts] = pattern[i];
            Simulated& simulated =
                i < m_operations.size() ? m_operations[i] : Add(operation, starts.size());
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
            // It is not known which ranks of an unfinished group will end, so the pattern is
            // simulated until nothing is left to happen.
            m_expected += operation.HasBegun()             ? operation.left
                          : NeedsAllRanks(*operation.what) ? 0
                                                           : 1;
        }
    }

    /// Let the ranks begin that are next, and then those after them. Each is scheduled when those
    /// before it begin, so the order of events does not depend on when it became known.
    void BeginNext()
    {
        const auto earlier = [](const Place* a, const Place* b) {
            return StartOf(*a) < StartOf(*b);
        };
        std::ranges::stable_sort(m_pending, earlier);
        const auto later = std::ranges::upper_bound(m_pending, m_pending[0], earlier);
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

    /// Let a copy of this one simulate the rest, and wait for a pattern that begins in the same
    /// way.
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

    Simulated& Add(const PartOperation& what, std::size_t ranks)
    {
        const auto number = static_cast<uint32_t>(m_operations.size());
        Simulated& added = m_operations.emplace_back();
        added.what = &what;
        added.number = number;
        added.starts.assign(ranks, NO_TIME);
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
        ns3::QbbMail::Note(*this, Ended{simulated.number});
    }

    void NoteEnd(Simulated& operation)
    {
        --operation.left;
        if (operation.HasBegun() && --m_expected == 0)
        {
            ns3::QbbMail::Post([this] { Report(); });
        }
    }

    [[noreturn]] void Report()
    {
        PartOutcome outcome;
        outcome.traffic = m_setup.carried();
        for (const Simulated& each : m_operations)
        {
            outcome.ends.push_back(each.ends);
        }
        const bool sent = SendBlock(m_socket, ToBytes(outcome));
        ::_exit(sent ? 0 : 1);
    }

    const Setup& m_setup;
    int m_socket;
    int m_more;
    std::deque<OwnedPattern> m_longer; ///< those that became known later
    std::vector<Place*> m_pending;     ///< ranks that are not scheduled yet
    std::size_t m_expected{0};         ///< ends of operations that all ranks have begun
    std::deque<Simulated> m_operations;
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
    {
        WaitingCopies waiting;
        bool isWatched = true;
        while (const auto block = ReceiveBlock(socket))
        {
            if (std::exchange(isWatched, false))
            {
                m_setup.unwatch(); // before the first pattern, not earlier: it takes memory of its
                                   // own
            }
            const OwnedPattern pattern = PatternFromBytes(*block);
            if (!(m_setup.isOneThread ? SimulateOn(pattern, *block, socket, waiting)
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
    const auto answer = SendBlock(m_socket, ToBytes(pattern)) ? ReceiveBlock(m_socket)
                                                              : std::optional<ns3::QbbBytes>();
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

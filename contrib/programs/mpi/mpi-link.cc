/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "mpi-link.h"

#include <algorithm>
#include <chrono>
#include <mpi.h>
#include <thread>
#include <vector>

namespace
{

constexpr int DATA_TAG = 2;
constexpr uint64_t PIECE = uint64_t{1} << 30; ///< an int counts the bytes of a message

using Clock = std::chrono::steady_clock;
/// Data for the exchange of a window comes from another process within this time, where each has a
/// core of its own.
constexpr std::chrono::microseconds BUSY_WAIT{200};
/// A process without a core of its own sleeps while it waits, an eighth of its wait so far at a
/// time, and at most this long.
constexpr std::chrono::milliseconds LONGEST_SLEEP{1};

void
Join(uint32_t* rank, uint32_t* count)
{
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    int value = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &value);
    *rank = static_cast<uint32_t>(value);
    MPI_Comm_size(MPI_COMM_WORLD, &value);
    *count = static_cast<uint32_t>(value);
}

/// Begin to send or receive all of a message.
template <typename Transfer>
void
InPieces(uint64_t bytes, Transfer transfer)
{
    for (uint64_t done = 0; done < bytes; done += PIECE)
    {
        transfer(done, static_cast<int>(std::min(PIECE, bytes - done)));
    }
}

/// Wait until messages have been sent and received. MPI itself would keep the core busy.
void
Await(std::vector<MPI_Request>& requests, void (*wait)(void* arg), void* arg)
{
    const Clock::time_point begin = Clock::now();
    for (;;)
    {
        int areDone = 0;
        MPI_Testall(static_cast<int>(requests.size()),
                    requests.data(),
                    &areDone,
                    MPI_STATUSES_IGNORE);
        if (areDone)
        {
            return;
        }
        const Clock::duration waited = Clock::now() - begin;
        if (waited > BUSY_WAIT)
        {
            wait(arg);
            std::this_thread::sleep_for(std::min<Clock::duration>(waited / 8, LONGEST_SLEEP));
        }
    }
}

void
Exchange(const void* const* data,
         const uint64_t* bytes,
         void* (*room)(void* arg, uint32_t process, uint64_t bytes),
         void (*wait)(void* arg),
         void* arg)
{
    int rank = 0;
    int count = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    std::vector<uint64_t> coming(static_cast<std::size_t>(count));
    std::vector<MPI_Request> requests(1);
    MPI_Ialltoall(bytes,
                  1,
                  MPI_UINT64_T,
                  coming.data(),
                  1,
                  MPI_UINT64_T,
                  MPI_COMM_WORLD,
                  requests.data());
    Await(requests, wait, arg);
    requests.clear();
    for (int other = 0; other < count; ++other)
    {
        if (other == rank)
        {
            continue;
        }
        const uint64_t size = coming[static_cast<std::size_t>(other)];
        auto* to = static_cast<char*>(room(arg, static_cast<uint32_t>(other), size));
        InPieces(size, [&](uint64_t done, int piece) {
            MPI_Irecv(to + done,
                      piece,
                      MPI_BYTE,
                      other,
                      DATA_TAG,
                      MPI_COMM_WORLD,
                      &requests.emplace_back());
        });
    }
    for (int other = 0; other < count; ++other)
    {
        const auto* from = static_cast<const char*>(data[other]);
        InPieces(other == rank ? 0 : bytes[other], [&](uint64_t done, int piece) {
            MPI_Isend(from + done,
                      piece,
                      MPI_BYTE,
                      other,
                      DATA_TAG,
                      MPI_COMM_WORLD,
                      &requests.emplace_back());
        });
    }
    Await(requests, wait, arg);
}

void
Leave()
{
    MPI_Finalize();
}

} // namespace

extern "C" [[gnu::visibility("default")]] const SimAiMpiLink*
GetSimAiMpiLink()
{
    static const SimAiMpiLink link{&Join, &Exchange, &Leave};
    return &link;
}

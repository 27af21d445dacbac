/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rank-communicator.h"

#include <algorithm>
#include <climits>
#include <mpi.h>
#include <numeric>
#include <sched.h>

namespace AstraSim
{

namespace
{

constexpr int CLOCK_ROUNDS = 30;
constexpr int CLOCK_TAG = 1;
constexpr int DATA_TAG = 2;
constexpr std::size_t LARGEST_PIECE = std::size_t{1}
                                      << 30; ///< an int counts the bytes of a message

void
SendAll(const ns3::QbbBytes& data, int to)
{
    auto bytes = static_cast<uint64_t>(data.size());
    MPI_Send(&bytes, 1, MPI_UINT64_T, to, DATA_TAG, MPI_COMM_WORLD);
    for (std::size_t done = 0; done < data.size(); done += LARGEST_PIECE)
    {
        const auto piece = static_cast<int>(std::min(LARGEST_PIECE, data.size() - done));
        MPI_Send(data.data() + done, piece, MPI_BYTE, to, DATA_TAG, MPI_COMM_WORLD);
    }
}

ns3::QbbBytes
ReceiveAll(int from)
{
    uint64_t bytes = 0;
    MPI_Recv(&bytes, 1, MPI_UINT64_T, from, DATA_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ns3::QbbBytes data(bytes);
    for (std::size_t done = 0; done < data.size(); done += LARGEST_PIECE)
    {
        const auto piece = static_cast<int>(std::min(LARGEST_PIECE, data.size() - done));
        MPI_Recv(data.data() + done,
                 piece,
                 MPI_BYTE,
                 from,
                 DATA_TAG,
                 MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    }
    return data;
}

} // namespace

RankCommunicator::RankCommunicator()
{
    MPI_Comm_rank(MPI_COMM_WORLD, &m_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &m_size);
    MPI_Comm local = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, m_rank, MPI_INFO_NULL, &local);
    MPI_Comm_rank(local, &m_localRank);
    MPI_Comm_size(local, &m_localSize);
    MPI_Comm_free(&local);
}

std::vector<std::string>
RankCommunicator::GatherAll(const std::string& text) const
{
    std::vector<int> sizes(static_cast<std::size_t>(m_size));
    const auto size = static_cast<int>(text.size());
    MPI_Allgather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, MPI_COMM_WORLD);
    std::vector<int> offsets(sizes.size(), 0);
    std::partial_sum(sizes.begin(), sizes.end() - 1, offsets.begin() + 1);
    std::string all(static_cast<std::size_t>(offsets.back() + sizes.back()), '\0');
    MPI_Allgatherv(text.data(),
                   size,
                   MPI_BYTE,
                   all.data(),
                   sizes.data(),
                   offsets.data(),
                   MPI_BYTE,
                   MPI_COMM_WORLD);
    std::vector<std::string> texts;
    for (std::size_t rank = 0; rank < sizes.size(); ++rank)
    {
        texts.push_back(all.substr(static_cast<std::size_t>(offsets[rank]),
                                   static_cast<std::size_t>(sizes[rank])));
    }
    return texts;
}

std::vector<ns3::QbbBytes>
RankCommunicator::GatherAtFirst(const ns3::QbbBytes& data) const
{
    if (m_rank != 0)
    {
        SendAll(data, 0);
        return {};
    }
    std::vector<ns3::QbbBytes> all{data};
    for (int rank = 1; rank < m_size; ++rank)
    {
        all.push_back(ReceiveAll(rank));
    }
    return all;
}

int64_t
RankCommunicator::Broadcast(int64_t value, const std::function<void()>& whileWaiting) const
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibcast(&value, 1, MPI_INT64_T, 0, MPI_COMM_WORLD, &request);
    Await(&request, whileWaiting);
    return value;
}

int64_t
RankCommunicator::Max(int64_t value) const
{
    int64_t largest = value;
    MPI_Allreduce(&value, &largest, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    return largest;
}

void
RankCommunicator::Barrier(const std::function<void()>& whileWaiting) const
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    Await(&request, whileWaiting);
}

void
RankCommunicator::Await(void* request, const std::function<void()>& whileWaiting)
{
    while (true)
    {
        int done = 0;
        MPI_Test(static_cast<MPI_Request*>(request), &done, MPI_STATUS_IGNORE);
        if (done)
        {
            return;
        }
        whileWaiting();
        sched_yield();
    }
}

ClockOffset
RankCommunicator::CompareClocks(const std::function<int64_t()>& clock) const
{
    ClockOffset best{0, m_rank == 0 ? 0 : INT64_MAX};
    for (int rank = 1; rank < m_size; ++rank)
    {
        for (int round = 0; round < CLOCK_ROUNDS && (m_rank == 0 || m_rank == rank); ++round)
        {
            int64_t first = 0;
            if (m_rank == 0)
            {
                MPI_Recv(nullptr, 0, MPI_BYTE, rank, CLOCK_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                first = clock();
                MPI_Send(&first, 1, MPI_INT64_T, rank, CLOCK_TAG, MPI_COMM_WORLD);
                continue;
            }
            const int64_t before = clock();
            MPI_Send(nullptr, 0, MPI_BYTE, 0, CLOCK_TAG, MPI_COMM_WORLD);
            MPI_Recv(&first, 1, MPI_INT64_T, 0, CLOCK_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            const int64_t after = clock();
            if ((after - before) / 2 < best.errorNs)
            {
                best = {before + (after - before) / 2 - first, (after - before) / 2};
            }
        }
    }
    return best;
}

} // namespace AstraSim

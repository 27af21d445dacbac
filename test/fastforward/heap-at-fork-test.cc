/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/fastforward/heap-at-fork.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <malloc.h>
#include <memory>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using AstraSim::HeapAtFork;

namespace
{

constexpr std::size_t PIECE = 16 << 10;
constexpr std::size_t PIECES = 512; // 8 MiB
constexpr long PAGE = 4096;

using Pieces = std::vector<std::unique_ptr<char[]>>;

/// @return pieces of memory, each page of which has been written
Pieces
WritePieces()
{
    Pieces pieces;
    for (std::size_t i = 0; i < PIECES; ++i)
    {
        pieces.emplace_back(new char[PIECE]);
        std::fill_n(pieces.back().get(), PIECE, static_cast<char>(i));
    }
    return pieces;
}

bool
AreAsWritten(const Pieces& pieces)
{
    std::size_t i = 0;
    return std::all_of(pieces.begin(), pieces.end(), [&i](const auto& piece) {
        const auto value = static_cast<char>(i++);
        return std::all_of(piece.get(), piece.get() + PIECE, [value](char each) {
            return each == value;
        });
    });
}

/// @return whether the piece is of the heap that grows by sbrk(), as sanitizers' memory is not
bool
IsOfTheHeap(const Pieces& pieces)
{
    const auto end = reinterpret_cast<uintptr_t>(::sbrk(0));
    const auto piece = reinterpret_cast<uintptr_t>(pieces.back().get());
    return piece < end && end - piece < uintptr_t{1} << 30;
}

long
CountFaults()
{
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

} // namespace

// The heap is written, freed and written again while a copy of the process is there: page by page,
// it would have to be copied first.
TEST(HeapAtFork, FreeHeapIsNotShared)
{
    ::mallopt(M_TRIM_THRESHOLD, 64 << 20); // what is freed stays with the process
    const bool isOfTheHeap = IsOfTheHeap(WritePieces());
    std::array<int, 2> hold{};
    ASSERT_EQ(::pipe(hold.data()), 0);
    HeapAtFork heap;
    const pid_t copy = ::fork();
    const bool isWhole = heap.Keep();
    if (copy == 0)
    {
        ::close(hold[1]);
        char end = 0;
        ::_exit(::read(hold[0], &end, 1) == 0 ? 0 : 1);
    }
    ASSERT_GT(copy, 0);
    EXPECT_TRUE(isWhole);
    const long before = CountFaults();
    const Pieces again = WritePieces();
    if (isOfTheHeap)
    {
        EXPECT_LT(CountFaults() - before, static_cast<long>(PIECES * PIECE) / PAGE / 2);
    }
    ::close(hold[1]);
    ::close(hold[0]);
    int status = 0;
    ::waitpid(copy, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST(HeapAtFork, CopiesAndTheirCopiesHaveAllThatIsInUse)
{
    const Pieces ours = WritePieces();
    HeapAtFork heap;
    const pid_t copy = ::fork();
    const bool isWhole = heap.Keep();
    if (copy == 0)
    {
        const Pieces theirs = WritePieces();
        const pid_t next = ::fork();
        if (next == 0)
        {
            ::_exit(isWhole && AreAsWritten(ours) && AreAsWritten(theirs) ? 0 : 1);
        }
        int status = 0;
        ::waitpid(next, &status, 0);
        ::_exit(status == 0 && AreAsWritten(ours) ? 0 : 1);
    }
    ASSERT_GT(copy, 0);
    EXPECT_TRUE(isWhole);
    const Pieces more = WritePieces();
    int status = 0;
    ::waitpid(copy, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(AreAsWritten(ours) && AreAsWritten(more));
}

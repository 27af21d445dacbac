/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "heap-at-fork.h"

#include <cstdint>
#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace AstraSim
{

#if defined(__GLIBC__) && defined(MADV_WIPEONFORK)

namespace
{

/// The C library puts small pieces that were freed together when a large one is asked for.
void
PutFreePiecesTogether()
{
    constexpr std::size_t LARGE = 64 << 10; // less than what is mapped apart from the heap
    void* volatile piece = std::malloc(LARGE);
    std::free(piece);
}

/// @return where the last, free piece of the heap begins; 0 if it is not where the heap ends, as
/// where the heap could not grow
uintptr_t
FindLastPiece(uintptr_t end, uintptr_t page)
{
    const uintptr_t size = ::mallinfo2().keepcost;
    const uintptr_t begin = end - size;
    unsigned char isResident = 0;
    if (size < page || size > end ||
        ::mincore(reinterpret_cast<void*>(begin / page * page), page, &isResident) != 0)
    {
        return 0;
    }
    constexpr uintptr_t FLAGS = 7;
    const uintptr_t written = reinterpret_cast<const uintptr_t*>(begin)[1]; // malloc's own size
    return (written & ~FLAGS) == size ? begin : 0;
}

} // namespace

HeapAtFork::HeapAtFork()
{
    PutFreePiecesTogether();
    const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto end = reinterpret_cast<uintptr_t>(::sbrk(0));
    const uintptr_t last = FindLastPiece(end, page);
    const uintptr_t begin = last / page * page + page; // behind the size, on a page of its own
    if (last == 0 || begin >= end / page * page)
    {
        return;
    }
    void* const first = reinterpret_cast<void*>(begin);
    const std::size_t size = end / page * page - begin;
    if (::madvise(first, size, MADV_WIPEONFORK) == 0)
    {
        m_begin = first;
        m_size = size;
    }
}

bool
HeapAtFork::Keep()
{
    return m_size == 0 || ::madvise(m_begin, m_size, MADV_KEEPONFORK) == 0;
}

#else

HeapAtFork::HeapAtFork() = default;

bool
HeapAtFork::Keep()
{
    return true;
}

#endif

} // namespace AstraSim

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "huge-pages.h"

#include <cstdint>
#include <memory>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#endif

namespace ns3
{

#ifdef __GLIBC__
namespace
{

/// @return whether address space is limited, so that a heap with a large reserve could use it up
bool
IsAddressSpaceLimited()
{
    for (const auto resource : {RLIMIT_AS, RLIMIT_DATA})
    {
        rlimit limit{};
        if (getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        {
            return true;
        }
    }
    return false;
}

} // namespace
#endif

void
UseHugePages()
{
#ifdef __GLIBC__
    constexpr uintptr_t HUGE_PAGE = 2 << 20;
    // More than a fabric of 15,360 GPUs takes. The heap grows by this much at once, as huge pages
    // are asked for once, for the heap as it is then.
    constexpr int RESERVE = 512 << 20;

    if (IsAddressSpaceLimited() || !mallopt(M_TOP_PAD, RESERVE))
    {
        return;
    }
    // Together more than malloc has at hand, one by one less than it maps apart from the heap.
    // Where the heap cannot grow, malloc maps memory elsewhere, and the last piece ends the loop
    // all the same.
    constexpr std::size_t PIECE = 100'000;
    const std::size_t piecesAtHand = mallinfo2().fordblks / PIECE;
    const auto before = reinterpret_cast<uintptr_t>(sbrk(0));
    std::vector<std::unique_ptr<char[]>> pieces;
    while (reinterpret_cast<uintptr_t>(sbrk(0)) == before && pieces.size() < piecesAtHand + 2)
    {
        pieces.emplace_back(new char[PIECE]); // not initialised: only the space matters
    }
    const auto after = reinterpret_cast<uintptr_t>(sbrk(0));
    const uintptr_t begin = (before + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    if (after > begin)
    {
        madvise(reinterpret_cast<void*>(begin), after - begin, MADV_HUGEPAGE);
    }
#endif
}

} // namespace ns3

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "programs/frame/huge-pages.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace ns3
{

namespace
{

/// @return whether the kernel was asked for huge pages where @p address is
bool
IsMarked(uintptr_t address)
{
    std::ifstream maps("/proc/self/smaps");
    bool inside = false;
    for (std::string line; std::getline(maps, line);)
    {
        std::istringstream fields(line);
        uintptr_t begin;
        uintptr_t end;
        char dash;
        if (fields >> std::hex >> begin >> dash >> end && dash == '-')
        {
            inside = address >= begin && address < end;
        }
        else if (inside && line.starts_with("VmFlags:"))
        {
            return line.find(" hg") != std::string::npos;
        }
    }
    return false;
}

} // namespace

TEST(HugePages, TheHeapGrowsIntoThem)
{
#if defined(__SANITIZE_ADDRESS__) || !defined(__GLIBC__)
    GTEST_SKIP() << "the heap is not the C library's";
#endif
    if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"))
    {
        GTEST_SKIP() << "this kernel has no transparent huge pages";
    }
    const auto end = reinterpret_cast<uintptr_t>(sbrk(0));
    UseHugePages();
    // Past the first boundary of huge pages, in pieces that come from the heap; what tests before
    // this one gave back is below its end and used first.
    std::vector<std::string> pieces{std::string(100'000, ' ')};
    while (reinterpret_cast<uintptr_t>(pieces.back().data()) < end + 4'000'000 &&
           pieces.size() < 4000)
    {
        pieces.emplace_back(100'000, ' ');
    }
    EXPECT_TRUE(IsMarked(reinterpret_cast<uintptr_t>(pieces.back().data())));
}

TEST(HugePages, AHeapThatCannotGrowCostsNothing)
{
#if defined(__SANITIZE_ADDRESS__) || !defined(__GLIBC__)
    GTEST_SKIP() << "the heap is not the C library's";
#endif
    // In a process of its own that ran no test before this one, with a page right behind its heap.
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto occupyAndCall = [] {
        const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
        const uintptr_t behind = (reinterpret_cast<uintptr_t>(sbrk(0)) + page - 1) / page * page;
        void* const blocked = mmap(reinterpret_cast<void*>(behind),
                                   page,
                                   PROT_NONE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
                                   -1,
                                   0);
        if (blocked == MAP_FAILED)
        {
            _exit(2);
        }
        rusage before;
        getrusage(RUSAGE_SELF, &before);
        UseHugePages();
        rusage after;
        getrusage(RUSAGE_SELF, &after);
        constexpr long MOST_KB = 16 * 1024;
        _exit(after.ru_maxrss - before.ru_maxrss > MOST_KB ? 1 : 0);
    };
    EXPECT_EXIT(occupyAndCall(), testing::ExitedWithCode(0), "");
}

} // namespace ns3

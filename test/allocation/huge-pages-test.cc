/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/huge-pages.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
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

} // namespace ns3

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "guarded-main.h"

#include "run-record.h"

#include "ns3/input-error.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fmt/format.h>
#include <iostream>
#include <new>
#include <sys/resource.h>

namespace AstraSim
{

namespace
{

/// Memory may also run out where nothing may be thrown.
[[noreturn]] void
EndWithoutMemory()
{
    try
    {
        if (std::current_exception())
        {
            std::rethrow_exception(std::current_exception());
        }
    }
    catch (const std::bad_alloc&)
    {
        std::fprintf(stderr,
                     "out of memory: %llu MiB were in use and more was needed; results are not "
                     "whole, and run.json does not say so\n",
                     static_cast<unsigned long long>(PeakMemoryBytes() >> 20));
        std::_Exit(1);
    }
    catch (...)
    {
    }
    std::abort();
}

int
StatusOf(const std::function<int()>& body)
{
    try
    {
        return body();
    }
    catch (const ns3::InputError& error)
    {
        std::cerr << error.what() << "\n";
        return 2;
    }
    catch (const std::bad_alloc&)
    {
        std::cerr << DescribeOutOfMemory() << "\n";
        return 1;
    }
    catch (const std::exception& error)
    {
        std::cerr << "internal error: " << error.what() << "\n";
        return 1;
    }
}

} // namespace

std::string
DescribeOutOfMemory()
{
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    const std::string most =
        limit.rlim_cur == RLIM_INFINITY
            ? "this machine has no more"
            : fmt::format("the limit (ulimit -v) is {} MiB of address space", limit.rlim_cur >> 20);
    return fmt::format("out of memory: {} MiB were in use and more was needed; {}",
                       PeakMemoryBytes() >> 20,
                       most);
}

int
GuardedMain(const std::function<int()>& body)
{
    std::set_terminate(&EndWithoutMemory);
    const int status = StatusOf(body);
    if (status != 0)
    {
        std::cout.flush();
        std::fflush(nullptr);
        std::_Exit(status);
    }
    return 0;
}

} // namespace AstraSim

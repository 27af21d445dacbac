/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "guarded-main.h"

#include "run-record.h"

#include "ns3/input-error.h"

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fmt/format.h>
#include <iostream>
#include <new>
#include <sys/mman.h>
#include <sys/resource.h>
#include <utility>

namespace AstraSim
{

namespace
{

/// The text of LastResort. A handler of the process knows nothing else.
std::function<std::string()>&
Resort()
{
    static std::function<std::string()> act;
    return act;
}

/// Memory may also run out where nothing may be thrown.
[[noreturn]] void
EndWithoutMemory()
{
    static bool hasTried = false;
    if (std::exchange(hasTried, true))
    {
        std::fprintf(stderr,
                     "out of memory: %llu MiB were in use and more was needed; results are not "
                     "whole, and run.json does not say so\n",
                     static_cast<unsigned long long>(PeakMemoryBytes() >> 20));
        std::_Exit(1);
    }
    const auto act = std::move(Resort());
    std::fprintf(stderr, "%s\n", (act ? act() : DescribeOutOfMemory()).c_str());
    std::_Exit(1);
}

void
OnTerminate()
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
        EndWithoutMemory();
    }
    catch (...)
    {
    }
    std::abort();
}

#ifndef __SANITIZE_ADDRESS__ // which reports faults itself
/// @return whether there is no memory left
bool
IsMemoryUsedUp()
{
    constexpr std::size_t BYTES = 1 << 20;
    void* memory = mmap(nullptr, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED || munmap(memory, BYTES) != 0;
}

/// ns-3 does not look whether malloc() has found memory, and touches the first page if it has not.
void
OnFault(int, siginfo_t* info, void*)
{
    constexpr uintptr_t PAGE = 4096;
    if (reinterpret_cast<uintptr_t>(info->si_addr) < PAGE && IsMemoryUsedUp())
    {
        EndWithoutMemory();
    }
    std::signal(SIGSEGV, SIG_DFL); // and fault again
}
#endif

void
WatchMemory()
{
    std::set_terminate(&OnTerminate);
#ifndef __SANITIZE_ADDRESS__
    struct sigaction action = {};
    action.sa_sigaction = &OnFault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, nullptr);
#endif
}

/// @return whether the stack has room for what programs put there; if not, a user has been told
bool
HasStack()
{
    constexpr rlim_t LEAST = 1 << 20;
    rlimit limit{};
    getrlimit(RLIMIT_STACK, &limit);
    if (limit.rlim_cur >= LEAST) // without limit: RLIM_INFINITY
    {
        return true;
    }
    std::fprintf(stderr,
                 "the stack is limited to %llu KiB (ulimit -s); expected 1024 or more\n",
                 static_cast<unsigned long long>(limit.rlim_cur >> 10));
    return false;
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
    static const std::string text = [] {
        rlimit limit{};
        getrlimit(RLIMIT_AS, &limit);
        const std::string most =
            limit.rlim_cur == RLIM_INFINITY
                ? "this machine has no more"
                : fmt::format("the limit (ulimit -v) is {} MiB of address space",
                              limit.rlim_cur >> 20);
        return fmt::format("out of memory: {} MiB were in use and more was needed; {}",
                           PeakMemoryBytes() >> 20,
                           most);
    }();
    return text;
}

LastResort::LastResort(std::function<std::string()> act)
    : m_before(std::exchange(Resort(), std::move(act)))
{
}

LastResort::~LastResort()
{
    Resort() = std::move(m_before);
}

int
GuardedMain(const std::function<int()>& body)
{
    WatchMemory();
    std::signal(SIGXFSZ, SIG_IGN); // a file that reaches ulimit -f is one that cannot be written
    if (!HasStack())
    {
        return 2;
    }
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

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "guarded-main.h"

#include "process-link.h"
#include "run-record.h"

#include "ns3/input-error.h"
#include "ns3/legible.h"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <fmt/format.h>
#include <iostream>
#include <new>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace AstraSim
{

namespace
{

/// The action of LastResort, which returns the reason to print. Handlers of a process get no
/// argument, so it stands here.
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

/// @return whether the stack has room for a program's objects; if not, prints an error
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

/// The caller may have closed them. A file must not be opened in their place, as it would get their
/// text; writing to a descriptor that is only read fails.
void
KeepStandardDescriptors()
{
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    {
        if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != descriptor)
        {
            return; // there is no such file: no harm either
        }
    }
}

/// @return whether standard output is a pipe that nobody reads
bool
IsBrokenPipe()
{
    pollfd output{STDOUT_FILENO, POLLOUT, 0};
    struct stat kind = {};
    return fstat(STDOUT_FILENO, &kind) == 0 && S_ISFIFO(kind.st_mode) && poll(&output, 1, 0) > 0 &&
           (output.revents & POLLERR) != 0;
}

/// @return 0, or the errno of text that has not reached standard output; of text that was lost
/// earlier EPIPE for a broken pipe, else EIO
int
WriteOutOutput()
{
    errno = 0;
    std::cout.flush(); // into stdout, and from there
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    {
        return errno ? errno : IsBrokenPipe() ? EPIPE : EIO;
    }
    // A network's file system tells of a full disk only when a descriptor is closed.
    const int copy = dup(STDOUT_FILENO);
    return copy >= 0 && close(copy) != 0 ? errno : 0;
}

/// @param status of the body @return that of the program: a table that is cut off must not count as
/// whole
int
StatusWithOutput(int status)
{
    const int error = WriteOutOutput();
    if (error == 0 || status != 0)
    {
        return status;
    }
    if (error == EPIPE)
    {
        return 128 + SIGPIPE; // as if the caller did not have the signal ignored
    }
    std::cerr << ns3::InputError("standard output",
                                 0,
                                 std::string("cannot be written: ") + std::strerror(error),
                                 "a file or a pipe that takes all of it")
                     .what()
              << "\n";
    return 2;
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
        std::cerr << ns3::Legible(error.what()) << "\n";
        return 2;
    }
    catch (const std::bad_alloc&)
    {
        std::cerr << DescribeOutOfMemory() << "\n";
        return 1;
    }
    catch (const LostProcess& lost)
    {
        std::cerr << lost.what() << "\n";
        return 1;
    }
    catch (const std::exception& error)
    {
        std::cerr << "internal error: " << ns3::Legible(error.what()) << "\n";
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
    KeepStandardDescriptors();
    WatchMemory();
    std::signal(SIGXFSZ, SIG_IGN); // a file that reaches ulimit -f is one that cannot be written
    if (!HasStack())
    {
        return 2;
    }
    const int status = StatusWithOutput(StatusOf(body));
    if (status != 0)
    {
        std::fflush(nullptr);
        std::_Exit(status);
    }
    return 0;
}

} // namespace AstraSim

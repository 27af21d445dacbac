/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "partition-memory.h"

#include "qbb-simulator-impl.h"

#include "ns3/abort.h"
#include "ns3/node-list.h"
#include "ns3/node.h"
#include "ns3/simulator.h"

#include <csignal>
#include <cstdio>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace ns3
{

namespace
{

constexpr std::size_t ARENA_BYTES = std::size_t{64} << 20;
constexpr uint32_t ARENAS = 1024;

/// What the check knows; an allocator's, so there is one in the process.
struct Arenas
{
    char* begin{nullptr}; ///< of the first; null until somebody asks for the check
    bool isOn{false};
    std::vector<std::size_t> used;          ///< bytes, by partition
    std::vector<uint32_t> partitionOf;      ///< by node
    uint32_t making{PartitionMemory::NONE}; ///< whose state is made
    uint32_t open{PartitionMemory::NONE};   ///< the only one that may be touched; NONE: all may
};

Arenas&
Guarded()
{
    static Arenas arenas;
    return arenas;
}

void
Protect(uint32_t partition, int protection)
{
    const int failed = mprotect(Guarded().begin + partition * ARENA_BYTES, ARENA_BYTES, protection);
    NS_ABORT_MSG_IF(failed, "cannot change the protection of a partition's memory");
}

void
ProtectAll(int protection)
{
    for (uint32_t partition = 0; partition < Guarded().used.size(); ++partition)
    {
        Protect(partition, protection);
    }
}

/// @return the partition whose memory an address is in; NONE for the heap
uint32_t
PartitionAt(const void* address)
{
    const Arenas& arenas = Guarded();
    const auto offset = static_cast<std::size_t>(static_cast<const char*>(address) - arenas.begin);
    return arenas.begin && offset < ARENAS * ARENA_BYTES
               ? static_cast<uint32_t>(offset / ARENA_BYTES)
               : PartitionMemory::NONE;
}

/// Somebody has touched what he may not.
void
OnFault(int, siginfo_t* info, void*)
{
    const uint32_t partition = PartitionAt(info->si_addr);
    if (partition == PartitionMemory::NONE)
    {
        std::signal(SIGSEGV, SIG_DFL);
        return; // and fault again
    }
    char text[100];
    const int length = std::snprintf(text,
                                     sizeof text,
                                     "an event of partition %u touches the state of partition %u\n",
                                     Guarded().open,
                                     partition);
    [[maybe_unused]] const auto written =
        write(STDERR_FILENO, text, static_cast<std::size_t>(length));
    std::signal(SIGABRT, SIG_DFL);
    std::abort();
}

/// Open one partition only; NONE: all.
void
Open(uint32_t partition)
{
    Arenas& arenas = Guarded();
    const uint32_t before = std::exchange(arenas.open, partition);
    if (before == partition)
    {
        return;
    }
    if (partition == PartitionMemory::NONE)
    {
        ProtectAll(PROT_READ | PROT_WRITE);
        return;
    }
    if (before == PartitionMemory::NONE)
    {
        ProtectAll(PROT_NONE);
    }
    else
    {
        Protect(before, PROT_NONE);
    }
    Protect(partition, PROT_READ | PROT_WRITE);
}

} // namespace

PartitionMemory::Scope::Scope(uint32_t partition)
    : m_before(std::exchange(Guarded().making, partition))
{
}

PartitionMemory::Scope::~Scope()
{
    Guarded().making = m_before;
}

PartitionMemory::Visit::Visit()
    : m_visited(NONE),
      m_before(Guarded().making),
      m_opened(Guarded().open)
{
    Open(NONE);
}

PartitionMemory::Visit::Visit(const void* object)
    : m_visited(PartitionAt(object)),
      m_before(Guarded().making),
      m_opened(NONE)
{
    if (m_visited == NONE)
    {
        return;
    }
    Guarded().making = m_visited;
    if (Guarded().open != NONE)
    {
        Protect(m_visited, PROT_READ | PROT_WRITE);
    }
}

PartitionMemory::Visit::~Visit()
{
    if (m_opened != NONE)
    {
        Open(m_opened);
    }
    if (m_visited == NONE)
    {
        return;
    }
    Guarded().making = m_before;
    if (Guarded().open != NONE && Guarded().open != m_visited)
    {
        Protect(m_visited, PROT_NONE);
    }
}

bool
PartitionMemory::Guard()
{
    Arenas& arenas = Guarded();
    QbbSimulatorImpl* simulator = QbbSimulatorImpl::Get();
    if (!simulator)
    {
        return false;
    }
    simulator->SetContextHook(&PartitionMemory::Enter);
    arenas.isOn = true;
    arenas.partitionOf.clear(); // of nodes that are no more
    if (arenas.begin)
    {
        return true;
    }
    void* memory = mmap(nullptr,
                        ARENAS * ARENA_BYTES,
                        PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                        -1,
                        0);
    NS_ABORT_MSG_IF(memory == MAP_FAILED, "no room for the memory of partitions");
    arenas.begin = static_cast<char*>(memory);
    struct sigaction action = {};
    action.sa_sigaction = &OnFault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, nullptr);
    return true;
}

void
PartitionMemory::Unguard()
{
    Open(NONE);
    Guarded().isOn = false;
    Guarded().making = NONE;
}

void
PartitionMemory::Enter(uint32_t context)
{
    Arenas& arenas = Guarded();
    if (context == Simulator::NO_CONTEXT || !arenas.isOn)
    {
        arenas.making = NONE;
        Open(NONE);
        return;
    }
    if (context >= arenas.partitionOf.size())
    {
        Open(NONE);
        arenas.partitionOf.clear();
        for (auto node = NodeList::Begin(); node != NodeList::End(); ++node)
        {
            arenas.partitionOf.push_back((*node)->GetSystemId());
        }
    }
    const uint32_t partition = arenas.partitionOf[context];
    const bool isGuarded = partition < arenas.used.size();
    arenas.making = isGuarded ? partition : NONE;
    Open(arenas.making);
}

void*
PartitionMemory::Allocate(std::size_t bytes, std::size_t alignment)
{
    Arenas& arenas = Guarded();
    if (!arenas.isOn || arenas.making == NONE) [[likely]]
    {
        return alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__
                   ? ::operator new(bytes, std::align_val_t(alignment))
                   : ::operator new(bytes);
    }
    const uint32_t partition = arenas.making;
    NS_ABORT_MSG_IF(partition >= ARENAS, "more than " << ARENAS << " guarded partitions");
    while (arenas.used.size() <= partition)
    {
        Protect(static_cast<uint32_t>(arenas.used.size()), PROT_READ | PROT_WRITE);
        arenas.used.push_back(0);
    }
    std::size_t& used = arenas.used[partition];
    const std::size_t at = (used + alignment - 1) / alignment * alignment;
    used = at + bytes;
    NS_ABORT_MSG_IF(used > ARENA_BYTES, "a guarded partition's memory is used up");
    return arenas.begin + partition * ARENA_BYTES + at;
}

void
PartitionMemory::Free(void* memory, std::size_t alignment) noexcept
{
    if (PartitionAt(memory) != NONE)
    {
        return; // it is not used again, so that whoever still points to it is found
    }
    if (alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__)
    {
        ::operator delete(memory, std::align_val_t(alignment));
    }
    else
    {
        ::operator delete(memory);
    }
}

} // namespace ns3

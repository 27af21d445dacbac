/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PARTITION_MEMORY_H
#define PARTITION_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <new>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Where the state of a partition's nodes is, and a check that no other partition touches it.
 *
 * A partition is one node or several, as Node::GetSystemId() says. Its nodes share nothing with
 * those of other partitions but wires, and what a connection was told when it was set up.
 *
 * Normally all state is on the heap. Once Guard() has been called, each partition has memory of its
 * own. An event of a node may touch the memory of its partition only; an event of no node (link
 * events, monitors) and what comes before and after the run may touch all. Whatever breaks the rule
 * ends the program, which names both partitions. Needs QbbSimulatorImpl.
 */
class PartitionMemory
{
  public:
    static constexpr uint32_t NONE = UINT32_MAX; ///< no partition: the heap

    /// While it lives, the state that this thread makes belongs to a partition.
    class Scope
    {
      public:
        explicit Scope(uint32_t partition);
        ~Scope();
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

      private:
        uint32_t m_before;
    };

    /// While it lives, the partition that an object is in may be touched as well, and what is made
    /// belongs to it: the control plane is at work there.
    class Visit
    {
      public:
        explicit Visit(const void* object);
        Visit(); ///< every partition: results are taken
        ~Visit();
        Visit(const Visit&) = delete;
        Visit& operator=(const Visit&) = delete;

      private:
        uint32_t m_visited;
        uint32_t m_before; ///< whose state was made
        uint32_t m_opened; ///< which partition was open, where all are now
    };

    /// Guard what is made from now on.
    /// @return whether it can be: only QbbSimulatorImpl tells whose event it runs
    static bool Guard();
    /// Nothing is guarded any more. What was made stays where it is.
    static void Unguard();

    /// @return memory of the present partition
    static void* Allocate(std::size_t bytes, std::size_t alignment);
    static void Free(void* memory, std::size_t alignment) noexcept;

  private:
    /// An event of this node is about to be executed.
    static void Enter(uint32_t context);
};

/// Base of what belongs to a node: it is in the memory of the node's partition.
class PartitionState
{
  public:
    static void* operator new(std::size_t bytes)
    {
        return PartitionMemory::Allocate(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    }

    static void* operator new(std::size_t bytes, std::align_val_t alignment)
    {
        return PartitionMemory::Allocate(bytes, static_cast<std::size_t>(alignment));
    }

    static void* operator new[](std::size_t bytes)
    {
        return PartitionMemory::Allocate(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    }

    static void* operator new[](std::size_t bytes, std::align_val_t alignment)
    {
        return PartitionMemory::Allocate(bytes, static_cast<std::size_t>(alignment));
    }

    static void operator delete(void* memory)
    {
        PartitionMemory::Free(memory, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    }

    static void operator delete(void* memory, std::align_val_t alignment)
    {
        PartitionMemory::Free(memory, static_cast<std::size_t>(alignment));
    }

    static void operator delete[](void* memory)
    {
        PartitionMemory::Free(memory, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    }

    static void operator delete[](void* memory, std::align_val_t alignment)
    {
        PartitionMemory::Free(memory, static_cast<std::size_t>(alignment));
    }
};

} // namespace ns3

#endif /* PARTITION_MEMORY_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef HEAP_AT_FORK_H
#define HEAP_AT_FORK_H

#include <cstddef>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Keeps a fork from sharing heap that is free: whoever allocates it afterwards then need not
 * copy it page by page first (Linux with the GNU C library; elsewhere it does nothing).
 *
 * Freed pieces are put together before the fork, as both processes would have to do so, each on its
 * copy. The free end of the heap, which may have huge pages already, stays with the process
 * that forks; in the other one it is new, empty memory.
 *
 * @code
 * HeapAtFork heap;
 * const pid_t copy = ::fork();
 * heap.Keep(); // in both processes
 * @endcode
 */
class HeapAtFork
{
  public:
    /// From now on, a fork leaves the free end of the heap out. Nothing may be allocated until
    /// Keep().
    HeapAtFork();
    HeapAtFork(const HeapAtFork&) = delete;
    HeapAtFork& operator=(const HeapAtFork&) = delete;

    /// Further forks take the whole heap. @return whether that is so; a process in which it is not
    /// may go on if it forks no more
    [[nodiscard]] bool Keep();

  private:
    void* m_begin{nullptr};
    std::size_t m_size{0};
};

} // namespace AstraSim

#endif /* HEAP_AT_FORK_H */

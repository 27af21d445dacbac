/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef WAITING_COPIES_H
#define WAITING_COPIES_H

#include "astra-frontend/model/fastforward/patterns/pattern-bytes.h"

#include <cstddef>
#include <cstdint>
#include <list>
#include <sys/types.h>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Copies of the process that have simulated a pattern up to its last start, and wait there
 * for patterns that continue it.
 *
 * Each is a child of the process that has the list, which sends it requests through a socket.
 */
class WaitingCopies
{
  public:
    struct Copy
    {
        pid_t process;
        int socket;
        std::vector<ns3::QbbBytes> operations; ///< without times
        std::vector<std::vector<TimePs>> starts;
        TimePs last{0};    ///< of the starts
        uint64_t worth{0}; ///< the copy with the least of it goes first
    };

    /// Those that wait end, and are waited for.
    ~WaitingCopies();

    /// @return the copy with a pattern that @p longer begins with and continues; null if there is
    /// none
    Copy* Find(const OwnedPattern& longer);

    /// A copy simulates @p pattern. If there are too many, the one with the least worth ends: it
    /// has few operations, or others have come and gone since it was asked.
    Copy& Add(pid_t process, int socket, const OwnedPattern& pattern);

    /// @p copy simulates @p pattern now, which Find() found it for.
    void Extend(Copy& copy, const OwnedPattern& pattern);

    /// A copy has ended, or is to.
    void Remove(Copy& copy);

    /// In a new copy: close the sockets of the others.
    void LetGo();

  private:
    /// Each has its own memory for the changed parts of the network, some megabytes.
    static constexpr std::size_t MOST = 24;

    void Describe(Copy& copy, const OwnedPattern& pattern) const;

    /// Greedy-Dual (N. Young, 1994): a copy's worth is its simulated work plus the worth of the
    /// last copy evicted before its last use, m_spent.
    uint64_t m_spent{0};
    std::list<Copy> m_copies; ///< the one asked last comes first
};

} // namespace AstraSim

#endif /* WAITING_COPIES_H */

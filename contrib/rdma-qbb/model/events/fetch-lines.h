/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FETCH_LINES_H
#define FETCH_LINES_H

#include <cstddef>

namespace ns3
{

/**
 * Bring lines that will be touched soon into the cache, all of them at once.
 * @tparam COUNT number of lines
 * @param first an address in the first line; it need not be valid
 */
template <std::size_t COUNT>
inline void
FetchLines(const void* first)
{
    for (std::size_t line = 0; line < COUNT; ++line)
    {
        __builtin_prefetch(static_cast<const char*>(first) + 64 * line);
    }
}

} // namespace ns3

#endif /* FETCH_LINES_H */

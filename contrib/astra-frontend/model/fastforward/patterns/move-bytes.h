/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef MOVE_BYTES_H
#define MOVE_BYTES_H

#include <cerrno>
#include <cstddef>
#include <sys/types.h>

namespace AstraSim
{

/**
 * Move bytes by a system call that may move fewer than it was asked to, or be interrupted.
 * @param call as read() and write(), without the descriptor
 * @return whether all could be moved; false at the end of the other side, and after an error, which
 * errno names
 */
template <typename Call, typename Byte>
bool
MoveAll(Call call, Byte* bytes, std::size_t count)
{
    while (count > 0)
    {
        const ssize_t moved = call(bytes, count);
        if (moved < 0 && errno == EINTR)
        {
            continue;
        }
        if (moved <= 0)
        {
            return false;
        }
        bytes += moved;
        count -= static_cast<std::size_t>(moved);
    }
    return true;
}

} // namespace AstraSim

#endif /* MOVE_BYTES_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ENDED_PROCESS_H
#define ENDED_PROCESS_H

#include <cstdint>

namespace AstraSim
{

/// @return whether a process of this host has ended or is ending, also if its parent has not waited
/// for it
bool HasProcessEnded(int64_t pid);

} // namespace AstraSim

#endif /* ENDED_PROCESS_H */

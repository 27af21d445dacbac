/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef HUGE_PAGES_H
#define HUGE_PAGES_H

namespace ns3
{

/**
 * Ask the kernel to back the heap with huge pages (Linux with the GNU C library; elsewhere it does
 * nothing). Each hop of a packet touches objects all over the heap, so a large fabric misses the
 * processor's table of pages again and again. Costs address space, not memory; where that is
 * limited (ulimit -v), it does nothing. Call it first in main(): earlier allocations stay on small
 * pages.
 */
void UseHugePages();

} // namespace ns3

#endif /* HUGE_PAGES_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Terms of the closed forms of times: the defaults of attributes, in picoseconds.
 */
#ifndef ACCL_TIMES_H
#define ACCL_TIMES_H

#include <cstdint>

namespace ns3
{

constexpr int64_t CYCLE = 4'000;
constexpr int64_t CALL = 100 * CYCLE;
constexpr int64_t ISSUE = 120 * CYCLE;
constexpr int64_t STATUS = 10 * CYCLE;
constexpr int64_t NOTIFICATION = 30 * CYCLE;
constexpr int64_t DECODE = 16 * CYCLE;
constexpr int64_t MOVER = 16 * CYCLE;
constexpr int64_t SWITCH = 2 * CYCLE;
constexpr int64_t ADDER = 12 * CYCLE;
constexpr int64_t LANE = 4 * CYCLE;
constexpr int64_t PACKETIZER = 2 * CYCLE;
constexpr int64_t HBM = 107'000;
constexpr int64_t DDR = 73'000;
constexpr int64_t HOST = 900'000;
constexpr int64_t ENGINE = 100 * CYCLE; ///< of the protocol engine, each way

// Of AcclStar.
constexpr int64_t FLIGHT = 2 * 500'000; ///< host, switch, host
constexpr int64_t BYTE = 80;            ///< at 100 Gb/s

} // namespace ns3

#endif /* ACCL_TIMES_H */

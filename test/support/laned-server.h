/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LANED_SERVER_H
#define LANED_SERVER_H

#include <array>
#include <cstdint>
#include <fmt/format.h>
#include <string>

/// Lanes of the link between two GPUs of a server.
struct Lanes
{
    uint32_t a;
    uint32_t b;
    uint32_t count;
};

/// Of 8 MI250X, as Frontier's and LUMI's.
inline constexpr std::array<Lanes, 12> MI250X_LANES{{{0, 1, 4},
                                                     {2, 3, 4},
                                                     {4, 5, 4},
                                                     {6, 7, 4},
                                                     {0, 6, 2},
                                                     {2, 4, 2},
                                                     {0, 2, 1},
                                                     {1, 3, 1},
                                                     {1, 5, 1},
                                                     {3, 7, 1},
                                                     {4, 6, 1},
                                                     {5, 7, 1}}};

/// @return a file of servers of 8 MI250X: each GPU with an NVSwitch of its own, lanes of 288 Gb/s
/// between these, and one network switch
inline std::string
LanedFile(uint32_t servers)
{
    constexpr uint32_t GPUS = 8;
    const uint32_t hosts = servers * GPUS;
    std::string ids;
    std::string links;
    for (uint32_t host = 0; host < hosts; ++host)
    {
        ids += fmt::format("{} ", hosts + host);
        links += fmt::format("{} {} 2016Gbps 25ns 0\n", host, hosts + host);
        links += fmt::format("{} {} 100Gbps 500ns 0\n", host, 2 * hosts);
    }
    for (uint32_t first = hosts; first < 2 * hosts; first += GPUS)
    {
        for (const Lanes& lanes : MI250X_LANES)
        {
            links += fmt::format("{} {} {}Gbps 25ns 0\n",
                                 first + lanes.a,
                                 first + lanes.b,
                                 288 * lanes.count);
        }
    }
    return fmt::format("{} 8 {} 1 {} MI250X\n{}{}\n",
                       2 * hosts + 1,
                       hosts,
                       2 * hosts + MI250X_LANES.size() * servers,
                       ids,
                       2 * hosts) +
           links;
}

#endif /* LANED_SERVER_H */

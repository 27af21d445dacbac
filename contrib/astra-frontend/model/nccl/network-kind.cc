/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "network-kind.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace AstraSim
{

namespace
{

constexpr std::array<NetworkKind, 7> KINDS = {{
    {"none",
     1,
     0,
     0,
     0,
     {},
     1,
     true,
     true,
     0,
     true,
     "links as the topology has them, latencies as NCCL has them"},
    {"InfiniBand",
     0.97,
     4096,
     0,
     0,
     {},
     1,
     true,
     true,
     0,
     true,
     "48 to 49 GB/s of 50 per NDR NIC (nccl-tests issue 267; ib_write_bw 387 of 400 Gb/s)"},
    {"RoCE",
     0.97,
     4096,
     0,
     0,
     {},
     1,
     true,
     true,
     0,
     true,
     "ib_write_bw of 384 to 390 of 400 Gb/s (OCI's guides of their shapes)"},
    {"Pollara",
     0.94,
     4096,
     6,
     0,
     {},
     1,
     true,
     true,
     0,
     true,
     "AMD Pensando Pollara 400: latency at 8 B and rate of long messages of AllReduce on 2 servers "
     "of 8 MI355X"},
    {"Slingshot",
     0.935,
     2048,
     0.6,
     0,
     {{{192, 1.3, false}, {4096, 8, true}, {16384 + 2049, 3.7, true}}},
     1,
     true,
     true,
     0,
     true,
     "Cassini NIC: 23.1 GB/s of 25 in long messages; step of 5.6 us at 8 B on 16 GH200 nodes; "
     "libfabric's cxi puts up to 192 bytes into the command, has the CPU copy what is above 4096 "
     "(CXIP_SAFE_DEVMEM_COPY_THRESH), and announces what is above 16384 + 2049 "
     "(CXIP_RDZV_THRESHOLD, FI_CXI_RDZV_GET_MIN); times of a message from rings on 4, 8, 16 and 64 "
     "such nodes, with and without these copies"},
    {"EFA",
     0.85,
     8760,
     35,
     75,
     {},
     4,
     false,
     false,
     0,
     true,
     "SRD keeps no order of writes, so aws-ofi-nccl of p4d allows Simple only, and tells NCCL a "
     "latency of 75 us (platform-aws.c); latency at 8 B, rate, and time of a chunk of p4de"},
    {"TCPXO",
     0.95,
     4096,
     20,
     0,
     {},
     1,
     false,
     true,
     16384,
     false,
     "Google's settings of a3-megagpu (NCCL_PROTO=Simple,LL128, NCCL_NVLS_ENABLE=0, a tuner whose "
     "rules are by bytes per rank, but whose limits are not known); latency and rate of its "
     "AllGather, and where it leaves LL128"},
}};

bool
IsSame(const std::string& a, const std::string& b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
        return std::tolower(x) == std::tolower(y);
    });
}

} // namespace

std::span<const NetworkKind>
NetworkKind::All()
{
    return KINDS;
}

const NetworkKind*
NetworkKind::Find(const std::string& name)
{
    const auto it = std::find_if(KINDS.begin(), KINDS.end(), [&](const NetworkKind& kind) {
        return IsSame(kind.name, name);
    });
    return it != KINDS.end() ? &*it : nullptr;
}

std::string
NetworkKind::GetNames()
{
    std::string names;
    for (const NetworkKind& kind : KINDS)
    {
        names += (names.empty() ? "" : ", ") + std::string(kind.name);
    }
    return names;
}

} // namespace AstraSim

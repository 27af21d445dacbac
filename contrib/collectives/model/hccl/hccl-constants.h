/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef HCCL_CONSTANTS_H
#define HCCL_CONSTANTS_H

#include <cstdint>

namespace AstraSim
{

// Constants of HCCL's source (gitee.com/ascend/cann-hccl, 2025), each with its file there.

/// Least bytes of a rank's block for which data between servers is pipelined (coll_alg_operator.cc,
/// where NICs are driven by NPUs).
inline constexpr uint64_t HCCL_PIPELINE_BYTES = 32 << 10;
inline constexpr uint64_t HCCL_PIPELINE_ALL_REDUCE_BYTES = 1 << 20;

/// Most bytes of a rank's block for which NPUs behind switches do as those of a mesh
/// (SelectAlgfor91093 of the operators).
inline constexpr uint64_t HCCL_SWITCHED_MESH_BYTES = 2 << 20;
inline constexpr uint64_t HCCL_SWITCHED_MESH_ALL_REDUCE_BYTES = 1 << 20;

/// Latencies that HCCL's profiler assumes for tasks (task_profiling.h): for a copy of up to
/// HCCL_LONG_COPY_BYTES, a longer copy, a flag that another NPU waits for, and a message by RDMA.
inline constexpr int64_t HCCL_SHORT_COPY_NS = 600;
inline constexpr int64_t HCCL_LONG_COPY_NS = 1500;
inline constexpr uint64_t HCCL_LONG_COPY_BYTES = 512 << 10;
inline constexpr int64_t HCCL_FLAG_NS = 1000;
inline constexpr int64_t HCCL_RDMA_NS = 7000;

} // namespace AstraSim

#endif /* HCCL_CONSTANTS_H */

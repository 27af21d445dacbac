/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NVLS_COLLECTIVE_H
#define NVLS_COLLECTIVE_H

#include "nccl-cost-model.h"

#include "ns3/collective-implementation.h"
#include "ns3/collective-types.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace AstraSim
{

/// What the ranks of one NVLS AllReduce share.
struct NvlsExecution
{
    const CommGroup* group{nullptr};
    NcclPlan plan;
    uint64_t bytes{0};
    TimePs startLatency{0};
};

/**
 * @brief One rank's part of an NVLS AllReduce within a node.
 *
 * Every rank is the head of an equal share of the data. Chunk by chunk the head reads the sum of
 * all ranks' copies from the NVSwitch (multimem load-reduce) and writes it back to all as a
 * multicast (multimem store), as NCCL's directRecvDirectSend does (src/device/all_reduce.h). So
 * each GPU sends its whole data up once plus its share of the sums, and receives the same: S (1 +
 * 1/n) per direction, which is what measured NVLS bandwidths show against link rates. A head
 * reduces a chunk while it multicasts the one before, as NCCL's loop does.
 */
class NvlsCollective : public RankCollective
{
  public:
    /// Reductions of a head that are under way; the multicast of the one before overlaps.
    static constexpr uint32_t SLOTS = 1;
    /// Tags from here on are the multicasts'.
    static constexpr int MULTICAST_TAGS = 128;

    NvlsCollective(const NvlsExecution& execution,
                   uint32_t rank,
                   AstraNetworkAPI& network,
                   int tagBase,
                   const sim_request& info,
                   std::function<void()> done);

    void Start() override;
    std::string DescribeWait() const override;

    /// @return bytes of which @p head of @p ranks is the head
    static uint64_t ShareBytes(uint64_t bytes, uint32_t ranks, uint32_t head);

    /**
     * NCCL's chunk by size (src/enqueue.cc: 128 KiB at most, 16 KiB at least) in all channels
     * together, which run in step.
     * @return bytes that a head reduces at a time
     */
    static uint64_t ChunkSize(uint64_t bytes, uint32_t ranks, uint32_t channels);

    /// @return chunks of each head
    static uint64_t ChunkCount(uint64_t bytes, uint32_t ranks, uint32_t channels);

  private:
    /// This rank's view of one head's share.
    struct Head
    {
        NvlsCollective* owner;
        uint32_t index;
        uint64_t reducesJoined{0};
        uint64_t reducesDone{0};
        uint64_t multicastsJoined{0};
        uint64_t multicastsDone{0};
    };

    void Begin();
    void JoinReduces(Head& head);
    void JoinMulticasts(Head& head);
    void OnReduced(Head& head);
    void OnMulticast(Head& head);
    void Issue(InNetworkOp op, Head& head, uint64_t chunk, int tag, MessageHandler handler);
    uint64_t ChunkBytes(uint32_t head, uint64_t chunk) const;
    void CheckDone();

    NvlsExecution m_execution;
    uint32_t m_rank;
    AstraNetworkAPI& m_network;
    int m_tagBase;
    sim_request m_info;
    std::function<void()> m_done;
    uint64_t m_chunkBytes;
    std::vector<Head> m_heads;
    uint64_t m_left{0};
};

} // namespace AstraSim

#endif /* NVLS_COLLECTIVE_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CHAKRA_RANK_H
#define CHAKRA_RANK_H

#include "astra-frontend/model/chakra/chakra-window.h"
#include "astra-frontend/model/system/sys.h"
#include "astra-frontend/model/system/workload.h"
#include "chakra-workload.h"

#include <cstdint>
#include <map>
#include <queue>
#include <string>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief One rank's way through its trace.
 *
 * A node begins when those it depends on are over: one CPU operation at a time, one GPU computation
 * at a time (the lowest id first), any number of messages and collectives.
 */
class ChakraRank : public RankWorkload
{
  public:
    /// @param workload borrowed @param rank of the job @param sys borrowed
    ChakraRank(ChakraWorkload& workload, uint32_t rank, Sys& sys);

    void Start() override;
    bool Finished() const override;
    std::vector<std::string> DescribeWaits() const override;

  private:
    /// What only one node at a time can use.
    struct Processor
    {
        bool busy{false};
        std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<>> waiting;
    };

    /// A node that takes a known time; the argument of its event.
    struct Timer
    {
        ChakraRank* rank;
        const ChakraNode* node;
        TimePs start;
        Processor* processor; ///< to be freed; null for none
    };

    /// The node whose end lets a rank go on: the rank has waited for it.
    struct Ended
    {
        uint32_t layer{0};
        GroupKind group{GroupKind::Custom};
        TimePs sent{0}; ///< of a message that was received: when it left
    };

    /// @param ended the node that ended
    void Run(const Ended& ended);
    void Begin(const ChakraNode& node);
    void BeginCompute(const ChakraNode& node);
    void BeginMemory(const ChakraNode& node);
    void BeginSend(const ChakraNode& node);
    void BeginReceive(const ChakraNode& node);
    void BeginCollective(const ChakraNode& node);
    const CommGroup& InvolvedGroup(const ChakraNode& node) const;
    void Occupy(Processor& processor, const ChakraNode& node);
    void After(TimePs delay, const ChakraNode& node, Processor* processor);
    static void TimerEnded(void* timer);
    void End(uint64_t id, const Ended& ended);
    void TrackMemory(const ChakraNode& node);
    TimePs ComputeTime(const ChakraNode& node) const;
    int PeerOf(const ChakraNode& node, uint32_t peer, const char* what) const;
    /// Tells the observer of the exposed time until now.
    void EndExposed(const Ended& ended);

    ChakraWorkload& m_workload;
    Sys& m_sys;
    uint32_t m_rank;
    ChakraWindow m_window;
    Processor m_cpu;
    Processor m_gpu;
    std::map<uint64_t, const ChakraNode*> m_queued; ///< nodes that wait for a processor
    uint32_t m_communicating{0};
    bool m_exposed{false}; ///< communicates and does not compute
    TimePs m_exposedSince{0};
    uint64_t m_localMemory{0};              ///< bytes of running nodes' tensors
    std::map<uint64_t, uint64_t> m_tensors; ///< of each of them
    bool m_finished{false};
};

} // namespace AstraSim

#endif /* CHAKRA_RANK_H */

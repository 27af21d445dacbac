/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CHAKRA_WINDOW_H
#define CHAKRA_WINDOW_H

#include "chakra-trace.h"

#include <cstdint>
#include <map>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief The part of a trace that is in memory: nodes that run or wait for others.
 *
 * It reads ahead up to a limit, and beyond only as long as nothing can run, so the memory a trace
 * takes does not grow with its length.
 */
class ChakraWindow
{
  public:
    /// Nodes held at a time as long as some can run.
    static constexpr std::size_t DEFAULT_LIMIT = 4096;

    /// @param path the trace of one rank @param limit nodes to hold
    explicit ChakraWindow(const std::string& path, std::size_t limit = DEFAULT_LIMIT);

    /**
     * @return the node of lowest id without unfinished dependencies, or null if there is none now;
     * it runs from then on and stays valid until Finish()
     * @throw ns3::InputError if nothing runs and nothing ever can: a dependency that is missing or
     * part of a cycle
     */
    const ChakraNode* Next();

    /// Node @p id is over.
    void Finish(uint64_t id);

    /// @return whether every node of the trace is over
    bool Done() const
    {
        return m_ended && m_nodes.empty();
    }

    const ChakraTrace& GetTrace() const
    {
        return m_trace;
    }

    /// @return nodes held now
    std::size_t GetSize() const
    {
        return m_nodes.size();
    }

    /// @return a line per node that runs
    std::vector<std::string> DescribeRunning() const;

  private:
    struct Entry
    {
        ChakraNode node;
        uint32_t missing{0}; ///< dependencies that are not over
        bool runs{false};
        std::vector<uint64_t> dependents;
    };

    void Fill();
    void Add(ChakraNode&& node);
    bool IsFinished(uint64_t id) const;
    void MarkFinished(uint64_t id);
    [[noreturn]] void FailStuck() const;

    ChakraTrace m_trace;
    std::size_t m_limit;
    bool m_ended{false};
    std::size_t m_running{0};
    std::unordered_map<uint64_t, Entry> m_nodes;
    /// Nodes that wait for one that has not been read yet.
    std::unordered_map<uint64_t, std::vector<uint64_t>> m_waitingForUnread;
    std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<>> m_ready;
    std::map<uint64_t, uint64_t> m_finished; ///< ranges of ids: first -> last
};

} // namespace AstraSim

#endif /* CHAKRA_WINDOW_H */

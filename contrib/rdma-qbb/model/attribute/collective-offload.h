/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVE_OFFLOAD_H
#define COLLECTIVE_OFFLOAD_H

#include "ns3/object.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief The groups of ranks with collectives in engines beside the GPUs: a parameter of programs,
 * as the fabric itself runs no collectives.
 */
class CollectiveOffload : public Object
{
  public:
    static TypeId GetTypeId();

    /// An engine and the classes of traffic with collectives that it carries out.
    struct Choice
    {
        std::string engine; ///< its name; empty: NCCL does
        std::vector<std::string> classes;
    };

    /// Accepted values, for messages.
    static constexpr const char* EXPECTED = "NCCL, or the name of an engine and then none (all) or "
                                            "some of TP, DP, EP, DP_EP, PP, CP and CUSTOM";

    /**
     * @param text as in EXPECTED
     * @return the engine and its classes; nullopt if @p text is something else
     */
    static std::optional<Choice> Parse(std::string_view text);

  private:
    std::string m_engine;
};

} // namespace ns3

#endif /* COLLECTIVE_OFFLOAD_H */

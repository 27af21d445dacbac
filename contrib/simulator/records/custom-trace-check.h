/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CUSTOM_TRACE_CHECK_H
#define CUSTOM_TRACE_CHECK_H

#include "astra-frontend/model/system/run-observer.h"
#include "astra-frontend/model/system/system-config.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace AstraSim
{

/// Bytes of one rank in a trace of a custom collective.
struct CustomTraceBytes
{
    uint64_t sent{0};
    uint64_t received{0};
};

/**
 * @param op an operation @param bytes its payload, as CollectiveRequest counts it
 * @param ranks bytes that each rank of the trace sends and receives
 * @return why these messages cannot be that operation on that payload; empty if they can.
 *
 * In an AllReduce, each rank's data leave it and the data of all others reach it, summed or not: at
 * least (n-1)/n of the payload each way, since algorithms round parts; at most n-1 times the
 * payload, if every rank sends everything to all others. The others have such bounds by the parts
 * that move.
 */
std::string DescribeCustomMisfit(CollectiveOp op,
                                 uint64_t bytes,
                                 const std::vector<CustomTraceBytes>& ranks);

/**
 * @ingroup simulator
 * @brief Warns of custom collectives with traces made for another size.
 *
 * A trace has sizes of its own, which are used for a collective of any size, as ASTRA-sim does.
 */
class CustomTraceCheck : public RunObserver
{
  public:
    /// @param system names the operations with traces; borrowed @param warn called once a trace
    CustomTraceCheck(const SystemConfig& system, std::function<void(const std::string&)> warn);

    void CollectiveStarted(const CollectiveRecord& record) override;

    /// Collectives with traces are native, and native ones are never in step.
    bool NeedsEach() const override
    {
        return false;
    }

  private:
    /// A trace, and the state of its check.
    struct Trace
    {
        std::vector<CustomTraceBytes> ranks;
        uint64_t firstBytes{0}; ///< of the first collective that it carried out
        bool isWarned{false};
    };

    std::string DescribeMisfit(const Trace& trace, const CollectiveRecord& record) const;

    const SystemConfig& m_system;
    std::function<void(const std::string&)> m_warn;
    std::map<std::pair<std::string, CollectiveOp>, Trace> m_traces; ///< by prefix and operation
};

} // namespace AstraSim

#endif /* CUSTOM_TRACE_CHECK_H */

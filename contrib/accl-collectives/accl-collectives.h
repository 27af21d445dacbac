/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ACCL_COLLECTIVES_H
#define ACCL_COLLECTIVES_H

#include "ns3/cclo-driver.h"
#include "ns3/collective-engine.h"
#include "ns3/rdma-fabric.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup accl-cclo
 * @brief Collectives that ACCL's engines in the NICs carry out: each rank hands its part to the
 * engine of its host, which talks to the others over the same fabric.
 *
 * Engines are installed when the first collective asks for them. Data are cut into calls of at most
 * CALL_BYTES, which follow each other. Engines hold no contents unless they are checked: then each
 * rank begins with numbers of its own, and each result is compared with the collective's.
 */
class AcclCollectives : public CollectiveEngine
{
  public:
    static constexpr uint64_t CALL_BYTES = 1ULL << 30;
    static constexpr uint64_t MAX_CHECKED_BYTES = 1ULL << 32; ///< of a collective, over all ranks

    /**
     * @param fabric built; outlives this object
     * @param report receives wrong results; empty: nothing is checked, and no data are real
     */
    AcclCollectives(ns3::RdmaFabric& fabric, Report report);
    ~AcclCollectives() override;

    std::shared_ptr<const CollectivePlan> Plan(const CommGroup& group,
                                               const CollectiveRequest& request) override;

    uint64_t GetChecked() const override
    {
        return m_checked;
    }

    /// One rank's request to its engine.
    struct Part
    {
        ns3::CcloRequest request;
        uint32_t ranks;        ///< of the group
        uint64_t count;        ///< elements in all
        uint64_t maxCount;     ///< elements per call
        uint32_t operandParts; ///< size of the operand, in units of the count
        uint32_t resultParts;  ///< size of the result, in units of the count
        const std::vector<uint32_t>*
            communicators;         ///< number of the group's in each member's driver
        mutable uint32_t ended{0}; ///< ranks that have finished it
    };

    /// Hand a rank's part to its engine. @param done called when the last call has ended
    void Start(int rank, uint32_t member, const Part& part, const std::function<void()>& done);

    /// @return the wait of a rank's engine, in words
    std::string DescribeWait(int rank) const;

  private:
    struct Buffers
    {
        ns3::CcloBuffer operand;
        ns3::CcloBuffer result;
    };

    void Install();
    void Finish(ns3::CcloDriver& driver,
                const ns3::CcloRequest& request,
                const Buffers& buffers,
                uint32_t member,
                const Part& part);
    const std::vector<uint32_t>& CommunicatorsOf(const CommGroup& group);

    ns3::RdmaFabric& m_fabric;
    std::vector<ns3::Ptr<ns3::CcloDriver>> m_drivers; ///< by host
    std::map<std::vector<int>, std::vector<uint32_t>> m_communicators;
    Report m_report; ///< empty: nothing is checked
    uint64_t m_checked{0};
};

} // namespace AstraSim

#endif /* ACCL_COLLECTIVES_H */

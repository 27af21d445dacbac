/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ACCL_COLLECTIVES_H
#define ACCL_COLLECTIVES_H

#include "ns3/cclo-driver.h"
#include "ns3/collective-implementation.h"
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
 * @brief Collectives that ACCL's engines in the NICs carry out: each rank hands its part to the
 * engine of its host, which talks to the others over the same fabric.
 *
 * Engines are installed when the first collective asks for them, and hold no contents. Data are cut
 * into calls of at most CALL_BYTES, which follow each other.
 */
class AcclCollectives : public CollectiveImplementation
{
  public:
    static constexpr uint64_t CALL_BYTES = 1ULL << 30;

    /// @param fabric built; outlives this object
    explicit AcclCollectives(ns3::RdmaFabric& fabric);
    ~AcclCollectives() override;

    std::shared_ptr<const CollectivePlan> Plan(const CommGroup& group,
                                               const CollectiveRequest& request) override;

    /// What one rank asks its engine for.
    struct Part
    {
        ns3::CcloRequest request;
        uint64_t count;        ///< elements in all
        uint64_t maxCount;     ///< elements per call
        uint32_t operandParts; ///< of the operand, in units of the count
        uint32_t resultParts;  ///< likewise
        const std::vector<uint32_t>*
            communicators; ///< number of the group's in each member's driver
    };

    /// Hand a rank's part to its engine. @param done called when the last call has ended
    void Start(int rank, uint32_t member, const Part& part, const std::function<void()>& done);

    /// @return what a rank's engine waits for
    std::string DescribeWait(int rank) const;

  private:
    void Install();
    const std::vector<uint32_t>& CommunicatorsOf(const CommGroup& group);

    ns3::RdmaFabric& m_fabric;
    std::vector<ns3::Ptr<ns3::CcloDriver>> m_drivers; ///< by host
    std::map<std::vector<int>, std::vector<uint32_t>> m_communicators;
};

} // namespace AstraSim

#endif /* ACCL_COLLECTIVES_H */

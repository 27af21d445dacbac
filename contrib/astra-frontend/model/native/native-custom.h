/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NATIVE_CUSTOM_H
#define NATIVE_CUSTOM_H

#include "ns3/collective-implementation.h"

#include <memory>
#include <string>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief An algorithm that the user gives as a Chakra trace per rank of the group.
 *
 * The traces hold sends, receives and computations, with the sizes and times they are to have; a
 * collective of any size runs them as they are.
 */
class NativeCustom : public CollectiveImplementation
{
  public:
    /// @param prefix of the files PREFIX.0.et, PREFIX.1.et, ...
    explicit NativeCustom(std::string prefix)
        : m_prefix(std::move(prefix))
    {
    }

    std::shared_ptr<const CollectivePlan> Plan(const CommGroup& group,
                                               const CollectiveRequest& request) override;

  private:
    std::string m_prefix;
};

} // namespace AstraSim

#endif /* NATIVE_CUSTOM_H */

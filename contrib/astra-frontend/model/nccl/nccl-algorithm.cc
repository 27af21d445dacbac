/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "nccl-algorithm.h"

#include "ns3/collective-algorithm.h"

#include <array>
#include <utility>

namespace AstraSim
{

namespace
{

std::array<NcclMethod, NCCL_ALGORITHMS>&
GetTable()
{
    // Made by the first row: objects of other files may be constructed before those of this one.
    static std::array<NcclMethod, NCCL_ALGORITHMS> table;
    return table;
}

} // namespace

NcclTableRow::NcclTableRow(NcclAlgorithm algorithm, NcclMethod method)
{
    GetTable().at(static_cast<std::size_t>(algorithm)) = std::move(method);
}

const NcclMethod&
NcclTableRow::Of(NcclAlgorithm algorithm)
{
    return GetTable().at(static_cast<std::size_t>(algorithm));
}

const char*
ToString(NcclAlgorithm algorithm)
{
    const auto number = static_cast<std::size_t>(algorithm);
    return number < NCCL_ALGORITHMS
               ? NcclTableRow::Of(algorithm).name
               : CollectiveAlgorithm::GetAll()[number - NCCL_ALGORITHMS]->GetName().c_str();
}

} // namespace AstraSim

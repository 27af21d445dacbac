/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-congestion-factory.h"

#include "ns3/input-error.h"
#include "ns3/object-factory.h"

namespace ns3
{

namespace
{

constexpr std::string_view PREFIX = "ns3::";

std::string
DescribeModes()
{
    std::string text = "one of";
    for (const CongestionMode& mode : GetCongestionModes())
    {
        const std::string_view name = mode.typeName.substr(PREFIX.size());
        text += mode.word == name ? " " : " " + std::string{mode.word} + "=";
        text += name;
    }
    return text;
}

std::string
FindTypeName(const std::string& mode)
{
    for (const CongestionMode& known : GetCongestionModes())
    {
        if (mode == known.word || mode == known.typeName)
        {
            return std::string{known.typeName};
        }
    }
    return mode.starts_with(PREFIX) ? mode : std::string{PREFIX} + mode;
}

} // namespace

const std::vector<CongestionMode>&
GetCongestionModes()
{
    // 12 is what ASTRA-sim's network files write for a window and nothing else.
    static const std::vector<CongestionMode> modes{
        {"0", "ns3::RdmaNoCongestionControl"},
        {"1", "ns3::RdmaDcqcn"},
        {"3", "ns3::RdmaHpcc"},
        {"7", "ns3::RdmaTimelyHpccArtifact"},
        {"8", "ns3::RdmaDctcp"},
        {"10", "ns3::RdmaHpccPint"},
        {"12", "ns3::RdmaNoCongestionControl"},
        {"RdmaDcqcnPaper", "ns3::RdmaDcqcnPaper"},
        {"RdmaDcqcnHpccArtifact", "ns3::RdmaDcqcnHpccArtifact"},
        {"RdmaTimely", "ns3::RdmaTimely"},
        {"RdmaSwift", "ns3::RdmaSwift"}};
    return modes;
}

Ptr<RdmaCongestionOps>
CreateCongestionOps(const std::string& mode, const std::string& origin)
{
    TypeId tid;
    const bool found = TypeId::LookupByNameFailSafe(FindTypeName(mode), &tid);
    if (!found || !tid.IsChildOf(RdmaCongestionOps::GetTypeId()) || !tid.HasConstructor())
    {
        throw InputError(origin,
                         0,
                         "\"" + mode + "\" names no congestion control",
                         DescribeModes());
    }
    ObjectFactory factory;
    factory.SetTypeId(tid);
    return factory.Create<RdmaCongestionOps>();
}

} // namespace ns3

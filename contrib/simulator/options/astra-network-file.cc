/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-network-file.h"

#include "ns3/clock-range.h"
#include "ns3/input-file.h"
#include "ns3/rows.h"
#include "ns3/yaml-rows.h"

#include <cmath>
#include <limits>
#include <map>
#include <vector>

namespace AstraSim
{

namespace
{

constexpr uint64_t MOST_NPUS = 1 << 20;
constexpr double BYTES_PER_NS_OF_GB = 1.073741824; // 2^30 bytes a second
constexpr const char* FORMAT = "topology, npus_count, bandwidth and latency, a list each";

/// Reads one file; a mistake names its line.
class Reader
{
  public:
    explicit Reader(const std::string& path)
        : m_rows(ns3::ReadInputFile(path, "a network of ASTRA-sim (YAML)"), path, FORMAT, true)
    {
    }

    std::vector<NetworkDimension> Read() const
    {
        const ns3::RowValue list = ns3::YamlRows::ForPeople();
        ns3::Rows keys(m_rows.GetSource(),
                       {{"topology", list, ""},
                        {"npus_count", list, ""},
                        {"bandwidth", list, ""},
                        {"latency", list, ""}});
        m_rows.ReadInto(m_rows.GetAll(), keys);
        const YAML::Node shapes = List("topology", 0);
        const std::size_t count = shapes.size();
        const YAML::Node npus = List("npus_count", count);
        const YAML::Node bandwidths = List("bandwidth", count);
        const YAML::Node latencies = List("latency", count);
        std::vector<NetworkDimension> dimensions;
        uint64_t all = 1;
        for (std::size_t i = 0; i < count; ++i)
        {
            NetworkDimension dimension;
            dimension.shape = ShapeOf(shapes[i]);
            const double size = Number(npus[i], "npus_count", 2);
            if (size != std::floor(size) || size * static_cast<double>(all) > MOST_NPUS)
            {
                m_rows.Fail(npus[i],
                            "npus_count is " + npus[i].Scalar(),
                            "whole numbers whose product is at most " + std::to_string(MOST_NPUS));
            }
            dimension.npus = static_cast<uint32_t>(size);
            all *= dimension.npus;
            dimension.bytesPerNs =
                Number(bandwidths[i], "bandwidth", std::numeric_limits<double>::min()) *
                BYTES_PER_NS_OF_GB;
            dimension.latency = ns3::RoundToPs(Number(latencies[i], "latency", 0) * 1000);
            if (dimension.latency == ns3::CLOCK_END_PS)
            {
                m_rows.Fail(latencies[i],
                            "a latency of " + latencies[i].Scalar() +
                                " ns ends past the end of the simulated clock",
                            "less than 9.2e15 ns (106 days)");
            }
            dimensions.push_back(dimension);
        }
        return dimensions;
    }

  private:
    /// @param count entries it must have; 0 for one or more
    YAML::Node List(const std::string& key, std::size_t count) const
    {
        const YAML::Node list = m_rows.GetAll()[key];
        if (!list || !list.IsSequence() || list.size() == 0 || (count && list.size() != count))
        {
            const std::string expected =
                count ? std::to_string(count) + " entries, as topology has" : "a list";
            m_rows.Fail(list ? list : m_rows.GetAll(),
                        !list ? "has no " + key : key + " is not such a list",
                        expected);
        }
        return list;
    }

    NetworkDimension::Shape ShapeOf(const YAML::Node& node) const
    {
        static const std::map<std::string, NetworkDimension::Shape> SHAPES = {
            {"Ring", NetworkDimension::Shape::Ring},
            {"FullyConnected", NetworkDimension::Shape::FullyConnected},
            {"Switch", NetworkDimension::Shape::Switch},
        };
        const auto found = node.IsScalar() ? SHAPES.find(node.Scalar()) : SHAPES.end();
        if (found == SHAPES.end())
        {
            m_rows.Fail(node,
                        "'" + (node.IsScalar() ? node.Scalar() : "a list") +
                            "' is not a valid topology",
                        "Ring, FullyConnected or Switch");
        }
        return found->second;
    }

    double Number(const YAML::Node& node, const std::string& key, double least) const
    {
        double value = 0;
        if (!node.IsScalar() || !YAML::convert<double>::decode(node, value) ||
            !std::isfinite(value) || value < least)
        {
            m_rows.Fail(node,
                        key + " has an entry that is not valid",
                        key == "npus_count"  ? "2 or more NPUs"
                        : key == "bandwidth" ? "GB/s above 0"
                                             : "nanoseconds, 0 or more");
        }
        return value;
    }

    ns3::YamlRows m_rows;
};

} // namespace

bool
IsAstraNetworkFile(const std::string& path)
{
    return path.ends_with(".yml") || path.ends_with(".yaml");
}

std::vector<NetworkDimension>
ReadAstraNetworkFile(const std::string& path)
{
    return Reader(path).Read();
}

ns3::ClusterTopology
TopologyOf(const std::vector<NetworkDimension>& dimensions, const std::string& path)
{
    const uint32_t npus = DimensionalPaths(dimensions).GetRankCount();
    const NetworkDimension& outer = dimensions.back();
    ns3::ClusterTopology topology;
    topology.source = path;
    topology.kind.assign(npus, ns3::ClusterTopology::NodeKind::Host);
    topology.kind.push_back(ns3::ClusterTopology::NodeKind::Switch);
    for (uint32_t npu = 0; npu < npus; ++npu)
    {
        const auto rateBps = static_cast<uint64_t>(std::llround(outer.bytesPerNs * 8e9));
        // Without latency: the cost model subtracts a link's latency from NCCL's steps, and a
        // message's own links may have another.
        topology.links.push_back({npu, npus, rateBps, 0, 0, 0, 0, 0});
    }
    topology.Index();
    return topology;
}

} // namespace AstraSim

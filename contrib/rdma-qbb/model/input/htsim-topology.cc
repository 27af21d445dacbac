/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "htsim-topology.h"

#include "ns3/input-error.h"
#include "ns3/units.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace ns3
{

namespace
{

using Link = ClusterTopology::Link;

// More than any cluster has: such a number is a typing error, not a topology.
constexpr uint64_t MAX_TREE_VALUE = 10'000'000;
constexpr uint64_t MAX_TREE_LINKS = 100'000'000;
constexpr std::size_t MAX_TIERS = 3;
constexpr uint64_t BPS_PER_GBPS = 1'000'000'000;
constexpr int64_t PS_PER_HALF_NS = 500;

/// A key of a tier, in small letters.
struct TierKey
{
    std::string_view name;
    uint64_t least;
    std::optional<uint64_t> absent; ///< value if the file has none; nothing: the file must have it
};

constexpr TierKey SPEED{"downlink_speed_gbps", 1, std::nullopt};
constexpr TierKey RADIX_DOWN{"radix_down", 1, std::nullopt};
constexpr TierKey RADIX_UP{"radix_up", 1, std::nullopt};
constexpr TierKey LATENCY{"downlink_latency_ns", 0, std::nullopt};
constexpr TierKey SWITCH_LATENCY{"switch_latency_ns", 0, 0};
constexpr TierKey BUNDLE{"bundle", 1, 1};
constexpr TierKey OVERSUBSCRIBED{"oversubscribed", 1, 1};
constexpr std::array
    KEYS_OF_TIER{SPEED, RADIX_DOWN, RADIX_UP, LATENCY, SWITCH_LATENCY, BUNDLE, OVERSUBSCRIBED};

std::string
SmallLetters(std::string_view word)
{
    std::string small(word);
    std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
    return small;
}

/// Reads one topology of htsim, then builds its tree.
class TreeReader
{
  public:
    explicit TreeReader(InputLines& lines)
        : m_lines(lines)
    {
    }

    ClusterTopology Read()
    {
        do
        {
            ReadLine();
        } while (m_lines.Next());
        m_hosts = Required("nodes");
        const uint64_t tiers = Required("tiers");
        if (tiers != 2 && tiers != MAX_TIERS)
        {
            FailAt(0, "there are " + std::to_string(tiers) + " tiers", "Tiers 2 or Tiers 3");
        }
        m_top = tiers - 1;
        CountSwitches();
        Build();
        return std::move(m_topology);
    }

  private:
    struct Value
    {
        uint64_t value;
        std::size_t line;
    };

    struct Tier
    {
        std::size_t line{0}; ///< where it begins
        std::map<std::string, Value, std::less<>> values;
    };

    void ReadLine()
    {
        const auto& fields = m_lines.Fields();
        const std::string key = SmallLetters(fields[0]);
        CheckKey(key);
        const auto value = fields.size() == 2 ? ParseUnsigned(fields[1]) : std::nullopt;
        if (!value || *value > MAX_TREE_VALUE)
        {
            m_lines.Fail("'" + std::string(m_lines.RestFrom(1)) + "' is not a valid " +
                             std::string(fields[0]),
                         "one whole number up to " + std::to_string(MAX_TREE_VALUE));
        }
        if (key == "tier")
        {
            BeginTier(*value);
            return;
        }
        auto& values = m_tier ? m_tiers[*m_tier].values : m_header;
        const auto [first, isNew] = values.try_emplace(key, *value, m_lines.Line());
        if (!isNew)
        {
            m_lines.Fail(std::string(fields[0]) + " repeats line " +
                             std::to_string(first->second.line),
                         "each key once in a tier");
        }
    }

    void CheckKey(const std::string& key) const
    {
        const std::string word(m_lines.Fields()[0]);
        if (key == "tier")
        {
            return;
        }
        if (key == "queue_up" || key == "queue_down")
        {
            m_lines.Fail(word + " is not read: the ports of a switch share its buffer here",
                         "BUFFER_SIZE in the configuration");
        }
        if (!m_tier && !BeginsHtsimTopology(key))
        {
            m_lines.Fail("'" + word + "' is not a key of htsim's topology before its first tier",
                         "Nodes, Tiers, Podsize or Tier");
        }
        if (m_tier && std::ranges::find(KEYS_OF_TIER, key, &TierKey::name) == KEYS_OF_TIER.end())
        {
            m_lines.Fail("'" + word + "' is not a key of a tier in htsim's topology",
                         "Tier, Downlink_speed_Gbps, Radix_Up, Radix_Down, Oversubscribed, Bundle, "
                         "Switch_Latency_ns or Downlink_Latency_ns");
        }
    }

    void BeginTier(uint64_t number)
    {
        if (number >= MAX_TIERS)
        {
            m_lines.Fail("there is no tier " + std::to_string(number), "Tier 0, 1 or 2");
        }
        if (m_tiers[number].line != 0)
        {
            m_lines.Fail(fmt::format("tier {} repeats line {}", number, m_tiers[number].line),
                         "each tier once");
        }
        m_tier = number;
        m_tiers[number].line = m_lines.Line();
    }

    uint64_t Required(std::string_view key) const
    {
        const auto found = m_header.find(key);
        if (found == m_header.end() || found->second.value == 0)
        {
            FailAt(found == m_header.end() ? 0 : found->second.line,
                   "the topology has no " + std::string(key),
                   "Nodes, Tiers and Podsize above 0, before the first tier");
        }
        return found->second.value;
    }

    uint64_t Get(std::size_t tier, const TierKey& key) const
    {
        const auto found = m_tiers[tier].values.find(key.name);
        if (found != m_tiers[tier].values.end())
        {
            if (found->second.value < key.least)
            {
                FailAt(found->second.line, std::string(key.name) + " is 0", "a number above 0");
            }
            return found->second.value;
        }
        if (!key.absent)
        {
            FailAt(m_tiers[tier].line,
                   fmt::format("tier {} has no {}", tier, key.name),
                   "the key in each tier (Radix_Up in all but the last)");
        }
        return *key.absent;
    }

    /// @param isRight an equation that the tree must satisfy
    void Require(bool isRight,
                 std::size_t tier,
                 const std::string& what,
                 const std::string& expected) const
    {
        if (!isRight)
        {
            FailAt(m_tiers[tier].line, what, expected);
        }
    }

    /// Derive the tree's numbers and refuse radices that contradict each other.
    void CountSwitches()
    {
        const uint64_t podHosts = Required("podsize");
        const uint64_t hostsOfTor = Get(0, RADIX_DOWN);
        Require(
            m_hosts % podHosts == 0 && podHosts % hostsOfTor == 0 && Get(0, BUNDLE) == 1,
            0,
            fmt::format("{} hosts do not fill pods of {} and switches of {}, with a link each",
                        m_hosts,
                        podHosts,
                        hostsOfTor),
            "Nodes a multiple of Podsize, that a multiple of tier 0's Radix_Down, and Bundle 1");
        Require(m_top > 1 || podHosts == m_hosts,
                1,
                "two tiers do not connect several pods",
                "Podsize equal to Nodes, or Tiers 3");
        m_pods = m_hosts / podHosts;
        m_torsOfPod = podHosts / hostsOfTor;
        m_aggsOfPod = CountAbove(0, m_torsOfPod);
        m_coresOfAgg = m_top > 1 ? CountAbove(1, m_pods) : 0;
    }

    /// @param below switches of @p tier that each switch above is linked to
    /// @return the switches above that each switch of @p tier is linked to
    uint64_t CountAbove(std::size_t tier, uint64_t below) const
    {
        const uint64_t up = Get(tier, RADIX_UP);
        const uint64_t down = Get(tier, RADIX_DOWN);
        const uint64_t bundle = Get(tier + 1, BUNDLE);
        Require(up % bundle == 0,
                tier + 1,
                fmt::format("bundles of {} links do not divide Radix_Up {} of tier {}",
                            bundle,
                            up,
                            tier),
                "a Radix_Up that is a multiple of the Bundle of the tier above");
        Require(Get(tier + 1, RADIX_DOWN) == below * bundle,
                tier + 1,
                fmt::format("{} switches of tier {} with {} links each do not take Radix_Down {}",
                            below,
                            tier,
                            bundle,
                            Get(tier + 1, RADIX_DOWN)),
                "Radix_Down " + std::to_string(below * bundle));
        Require(
            down * Get(tier, SPEED) == up * Get(tier + 1, SPEED) * Get(tier, OVERSUBSCRIBED),
            tier,
            fmt::format("{} links of {} Gb/s down and {} of {} Gb/s up are not oversubscribed {} "
                        "times",
                        down,
                        Get(tier, SPEED),
                        up,
                        Get(tier + 1, SPEED),
                        Get(tier, OVERSUBSCRIBED)),
            "Oversubscribed to be the rates down divided by the rates up (1 without the key)");
        return up / bundle;
    }

    void Build()
    {
        const uint64_t tors = m_pods * m_torsOfPod;
        const uint64_t aggs = m_pods * m_aggsOfPod;
        const uint64_t cores = m_aggsOfPod * m_coresOfAgg;
        const uint64_t firstTor = m_hosts;
        const uint64_t firstAgg = firstTor + tors;
        const uint64_t firstCore = firstAgg + aggs;
        const uint64_t links =
            m_hosts + tors * Get(0, RADIX_UP) + (m_top > 1 ? aggs * Get(1, RADIX_UP) : 0);
        if (links > MAX_TREE_LINKS)
        {
            FailAt(0,
                   "the tree has " + std::to_string(links) + " links",
                   "at most " + std::to_string(MAX_TREE_LINKS));
        }
        m_topology.source = m_lines.Name();
        m_topology.kind.assign(m_hosts, ClusterTopology::NodeKind::Host);
        m_topology.kind.resize(firstCore + cores, ClusterTopology::NodeKind::Switch);
        m_topology.links.reserve(links);
        for (uint64_t host = 0; host < m_hosts; ++host)
        {
            Join(host, firstTor + host / Get(0, RADIX_DOWN), 0);
        }
        for (uint64_t tor = 0; tor < tors; ++tor)
        {
            for (uint64_t i = 0; i < m_aggsOfPod; ++i)
            {
                Join(firstTor + tor, firstAgg + tor / m_torsOfPod * m_aggsOfPod + i, 1);
            }
        }
        for (uint64_t agg = 0; agg < aggs; ++agg)
        {
            for (uint64_t i = 0; i < m_coresOfAgg; ++i)
            {
                Join(firstAgg + agg, firstCore + agg % m_aggsOfPod + i * m_aggsOfPod, 2);
            }
        }
    }

    /// Lay the links of one bundle. @param tier of the upper node
    void Join(uint64_t lower, uint64_t upper, std::size_t tier)
    {
        const int64_t switches =
            Get(tier, SWITCH_LATENCY) + (tier > 0 ? Get(tier - 1, SWITCH_LATENCY) : 0);
        Link link{};
        link.a = static_cast<uint32_t>(lower);
        link.b = static_cast<uint32_t>(upper);
        link.rateBps = Get(tier, SPEED) * BPS_PER_GBPS;
        link.delayPs = (2 * static_cast<int64_t>(Get(tier, LATENCY)) + switches) * PS_PER_HALF_NS;
        link.line = m_tiers[tier].line;
        m_topology.links.insert(m_topology.links.end(), Get(tier, BUNDLE), link);
    }

    [[noreturn]] void FailAt(std::size_t line,
                             const std::string& what,
                             const std::string& expected) const
    {
        throw InputError(m_lines.Name(), line, what, expected);
    }

    InputLines& m_lines;
    std::map<std::string, Value, std::less<>> m_header;
    std::array<Tier, MAX_TIERS> m_tiers;
    std::optional<std::size_t> m_tier; ///< that the present line belongs to
    ClusterTopology m_topology;
    std::size_t m_top{0}; ///< the last tier
    uint64_t m_hosts{0};
    uint64_t m_pods{0};
    uint64_t m_torsOfPod{0};
    uint64_t m_aggsOfPod{0};
    uint64_t m_coresOfAgg{0};
};

} // namespace

bool
BeginsHtsimTopology(std::string_view word)
{
    const std::string key = SmallLetters(word);
    return key == "nodes" || key == "tiers" || key == "podsize";
}

ClusterTopology
ReadHtsimTopology(InputLines& lines)
{
    return TreeReader(lines).Read();
}

} // namespace ns3

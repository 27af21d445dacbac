/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_CONF_H
#define FABRIC_CONF_H

#include "parameter.h"

#include "ns3/attribute-default.h"
#include "ns3/units.h"

#include <cstdint>
#include <initializer_list>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ns3
{

/// A link, or a node's links, that change at a time (LINK_DOWN, LINK_UP, LINK_RATE, NODE_DOWN,
/// NODE_UP).
struct LinkEvent
{
    static constexpr uint32_t ALL_LINKS = UINT32_MAX;

    int64_t timePs;   ///< from the start of the simulation
    uint32_t a;       ///< node id at one end
    uint32_t b;       ///< node id at the other; ALL_LINKS: every link of a
    bool up;          ///< whether it comes up or goes down
    std::size_t line; ///< where the file says so
    /// Of several links between a and b, from 1 in the order of the topology; 0: all of them.
    uint32_t number{0};
    uint64_t rateBps{0}; ///< that it has from then on, up or not; 0: its state changes, see up

    /// @return whether it is a failure, or the end of one
    bool IsOfState() const
    {
        return rateBps == 0;
    }
};

/**
 * @ingroup rdma-qbb
 * @brief The content of a SimAI.conf or an HPCC configuration file.
 *
 * Parameters of models are attributes of ns-3: a key is another name for one (or for some), and
 * Apply() makes its value the attribute's default. A run's inputs, outputs and the times of its
 * events are kept here. FabricConfHelp() describes every key.
 *
 * @code
 * FabricConf conf = FabricConf::Read("SimAI.conf");
 * conf.Set("CC_MODE 3", "--set"); // wins over the file
 * conf.Check();
 * conf.Apply();
 * ApplyNs3Flags(flags); // "--ns3::RdmaHw::Mtu=4096" wins over both
 * @endcode
 */
struct FabricConf
{
    /// Some switches: a layer of them, or those of a range of node ids.
    struct RoutingPlace
    {
        std::string text;  ///< as the file says it
        uint32_t layer{0}; ///< 1 access switches, 2 above them, 3 above those; 0: a range
        uint32_t first{0}; ///< node id
        uint32_t last{0};  ///< node id
    };

    /// A routing policy for some switches (ROUTING_AT).
    struct RoutingChoice
    {
        std::string policy; ///< TypeId name
        std::vector<RoutingPlace> places;
        std::size_t line; ///< where the file says so
    };

    /// Some links: a class of them, or those between two nodes.
    struct LinkPlace
    {
        enum class Class : uint8_t
        {
            Hosts,    ///< from a host to a network switch, or to another host
            Switches, ///< between network switches
            Between,  ///< between the nodes a and b
        };

        std::string text; ///< as the file says it
        Class of{};
        uint32_t a{0}; ///< node id
        uint32_t b{0}; ///< node id
    };

    /// A value for some links (LINK_RETRY_AT, LINK_CREDITS_AT).
    struct LinkChoice
    {
        uint64_t value;
        std::vector<LinkPlace> places;
        std::size_t line; ///< where the file says so
    };

    /// The plane that a class of traffic takes (PLANE).
    struct PlaneChoice
    {
        std::string trafficClass; ///< as the file says it
        uint32_t plane;           ///< the NIC of every host, from 0
        std::size_t line;         ///< where the file says so
    };

    // --- inputs and outputs
    Parameter<std::string> topologyFile; ///< empty if not given
    Parameter<std::string> flowFile;
    Parameter<std::string> traceFile;
    Parameter<std::string> traceOutputFile{"mix.tr"};
    Parameter<std::string> fctOutputFile{"fct.txt"};
    Parameter<std::string> pfcOutputFile{"pfc.txt"};
    Parameter<std::string> qlenMonFile{"queue.txt"};
    Parameter<std::string> bwMonFile{"bandwidth.txt"};
    Parameter<std::string> rateMonFile{"rate.txt"};
    Parameter<std::string> cnpMonFile{"cnp.txt"};
    Parameter<bool> enableTrace{false};
    Parameter<int64_t> stopTimePs{TIME_PS_MAX}; ///< TIME_PS_MAX: no limit

    // --- the switches
    Parameter<std::string> switchModel; ///< name of a SwitchModel; empty: none

    // --- changes at a place or a time
    Parameter<std::vector<RoutingChoice>>
        routingAt; ///< in file order: the last that names a switch counts
    Parameter<std::vector<LinkChoice>>
        linkRetryAt; ///< in file order: the last that names a link counts
    Parameter<std::vector<LinkChoice>> linkCreditsAt; ///< likewise, in bytes
    std::vector<LinkEvent> linkEvents;                ///< in file order

    Parameter<std::vector<PlaneChoice>> planes; ///< in file order: the last of a class counts

    // --- monitors
    Parameter<int64_t> monStartPs{0};
    Parameter<int64_t> monEndPs{20'000'000'000};
    Parameter<int64_t> qpMonIntervalPs{100'000'000};
    Parameter<int64_t> qlenMonIntervalPs{10'000'000'000};
    Parameter<int64_t> bwMonIntervalPs{10'000'000'000};
    Parameter<std::optional<int64_t>> qlenMonStartPs; ///< not set: monStartPs
    Parameter<std::optional<int64_t>> qlenMonEndPs;   ///< not set: monEndPs
    Parameter<std::vector<std::string>>
        monitors; ///< TypeId names of classes derived from FabricMonitor

    // --- the run
    Parameter<uint32_t> gpusPerServer{0}; ///< 0: as the topology says

    /// The place where a key was given.
    struct Origin
    {
        std::string file;    ///< or the flag
        std::size_t line{0}; ///< 0 if there is none
    };

    /// Settings that Apply() makes, by the key's place in the table.
    std::map<std::size_t, std::vector<AttributeSetting>> settings;

    std::string source;                ///< file it was read from
    std::vector<std::string> given;    ///< names of the keys that were set, in order
    std::vector<Origin> origins;       ///< where each of @ref given was set
    std::vector<std::string> warnings; ///< one line each; printing them is the program's business

    /// @param path file of `KEY value...` lines @throw InputError for the first mistake, and for
    /// all keys before it that are unknown
    static FabricConf Read(const std::string& path);

    /// As Read(), from a stream. @param name its name in errors
    static FabricConf Read(std::istream& text, const std::string& name);

    /**
     * Set one key after the file was read; call Check() when all are set.
     * @param keyAndValue as a line of the file: "CC_MODE 3" (or "CC_MODE=3")
     * @param origin its name in errors: "--set", "environment"
     */
    void Set(const std::string& keyAndValue, const std::string& origin);

    /**
     * Set the keys of a command line, each as Set() does.
     * @param settings values of --set
     * @throw InputError as Set(), and if a key occurs twice
     */
    void SetFromFlags(const std::vector<std::string>& settings);

    /// @throw InputError if keys contradict each other
    void Check();

    /**
     * Count changes of links and nodes from 2 s, and warn of it, where the HPCC simulator wrote the
     * files: there all flows start at 2 s or later, and so LINK_DOWN counts from 2 s. A change
     * before 2 s would come before all traffic.
     * @param firstStartPs when the first flow starts
     */
    void CountLinkEventsAsFlowsDo(int64_t firstStartPs);

    /// @return where the last one given of these keys was; the file, if none was
    Origin OriginOf(std::initializer_list<std::string_view> keys) const;

    /// @throw InputError that points to the last one given of these keys
    [[noreturn]] void FailAt(std::initializer_list<std::string_view> keys,
                             const std::string& what,
                             const std::string& expected) const;

    /// @throw InputError about one line of a key that may be repeated; 0: the one that no file has
    [[noreturn]] void FailAtLine(std::size_t line,
                                 std::string_view key,
                                 const std::string& what,
                                 const std::string& expected) const;

    /// @return whether the key was set by the file or by Set()
    bool IsGiven(std::string_view key) const;

    /// @return the default of an attribute after Apply(); null if no key that was given sets it
    Ptr<const AttributeValue> FindSetting(const std::string& attribute) const;

    /**
     * Make the given values the defaults of the keys' attributes. Objects made from
     * then on have them.
     * @return the defaults that this replaces; to restore them, SetDefault() in reverse order
     */
    std::vector<AttributeSetting> Apply() const;
};

/// A key, and the values that a user may write for it.
struct FabricConfKey
{
    std::string name;                      ///< "CC_MODE"
    std::string type;                      ///< "0 or 1", "microseconds", ...
    std::string range;                     ///< legal values, for people
    std::string defaultValue;              ///< as one would write it in a file; may be empty
    std::string description;               ///< one sentence
    bool hasEffect;                        ///< false: accepted for compatibility only
    std::vector<std::string> attributes{}; ///< that it stands for; the first has the value in force
};

/// @return every key, grouped as FabricConf is
std::vector<FabricConfKey> FabricConfKeys();

/**
 * @return for each key that has a value in force, its name and that value as a file would have it;
 * for records of a run's inputs
 */
std::vector<std::pair<std::string, std::string>> FabricConfValues(const FabricConf& conf);

/// @return the keys as a table for a terminal, a line each
std::string FabricConfHelp();

} // namespace ns3

#endif /* FABRIC_CONF_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// One configuration: a key of a conf stands for attributes, or says what a run reads, writes or
// changes; a flag can set every attribute of the module, wins over the conf, and is what all
// objects of a fabric then have; those objects are within reach of Config paths.

#include "../../contrib/rdma-qbb/test/text-fabric.h"
#include "programs/frame/ns3-flags.h"
#include "rdma-qbb/model/congestion/rdma-hpcc.h"

#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/input-error.h"
#include "ns3/object-factory.h"
#include "ns3/pointer.h"
#include "ns3/qbb-helper.h"
#include "ns3/rdma-transport.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <gtest/gtest.h>
#include <optional>
#include <set>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

/// Two servers of two GPUs each, an NVSwitch in each, one switch between them.
const std::string TWO_SERVERS = "7 2 2 1 8 H100\n4 5 6\n"
                                "0 4 2880Gbps 0.000025ms 0\n1 4 2880Gbps 0.000025ms 0\n"
                                "2 5 2880Gbps 0.000025ms 0\n3 5 2880Gbps 0.000025ms 0\n"
                                "0 6 400Gbps 0.0005ms 0\n1 6 400Gbps 0.0005ms 0\n"
                                "2 6 400Gbps 0.0005ms 0\n3 6 400Gbps 0.0005ms 0\n";

/// Inputs, outputs and times of a run: no parameters of a model.
const std::set<std::string> OF_THE_RUN{"TOPOLOGY_FILE",
                                       "FLOW_FILE",
                                       "TRACE_FILE",
                                       "TRACE_OUTPUT_FILE",
                                       "FCT_OUTPUT_FILE",
                                       "PFC_OUTPUT_FILE",
                                       "QLEN_MON_FILE",
                                       "BW_MON_FILE",
                                       "LINK_RETRY_AT",
                                       "LINK_CREDITS_AT",
                                       "CNP_OUTPUT_FILE",
                                       "SW_MONITORING_INTERVAL",
                                       "FLOWGEN_START_TIME",
                                       "FLOWGEN_STOP_TIME",
                                       "DATA_RATE",
                                       "LINK_DELAY",
                                       "LOAD",
                                       "CONWEAVE_TX_EXPIRY_TIME",
                                       "CONWEAVE_REPLY_TIMEOUT_EXTRA",
                                       "CONWEAVE_EXTRA_VOQ_FLUSH_TIME",
                                       "CONWEAVE_PATH_PAUSE_TIME",
                                       "CONWEAVE_DEFAULT_VOQ_WAITING_TIME",
                                       "FLOW_INPUT_FILE",
                                       "UPLINK_MON_FILE",
                                       "CONN_MON_FILE",
                                       "EST_ERROR_MON_FILE",
                                       "VOQ_MON_FILE",
                                       "VOQ_MON_DETAIL_FILE",
                                       "RATE_MON_FILE",
                                       "CNP_MON_FILE",
                                       "ENABLE_TRACE",
                                       "SIMULATOR_STOP_TIME",
                                       "ROUTING_AT",
                                       "LINK_DOWN",
                                       "LINK_UP",
                                       "LINK_RATE",
                                       "NODE_DOWN",
                                       "NODE_UP",
                                       "L2_WAIT_FOR_ACK",
                                       "INT_MULTI",
                                       "MON_START",
                                       "MON_END",
                                       "QP_MON_INTERVAL",
                                       "QLEN_MON_INTERVAL",
                                       "BW_MON_INTERVAL",
                                       "QLEN_MON_START",
                                       "QLEN_MON_END",
                                       "GPUS_PER_SERVER",
                                       "PLANE",
                                       "MONITOR"};

/// Values that the topology file gives for each link.
const std::set<std::string> OF_THE_TOPOLOGY{"ns3::QbbNetDevice::DataRate",
                                            "ns3::QbbChannel::CreditPriorities",
                                            "ns3::QbbChannel::Delay",
                                            "ns3::QbbChannel::ErrorRate"};

/// Values of an NVSwitch, independent of the network's switches.
const std::set<std::string> OF_NVSWITCHES{"ns3::SwitchNode::EcnEnabled",
                                          "ns3::SwitchNode::RoutingPolicyType",
                                          "ns3::SwitchMmu::BufferBytes",
                                          "ns3::SwitchMmu::DynamicThreshold"};

/// The tree has no transport but RoCE.
struct OtherTransport : public RdmaTransport
{
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::OtherTransport")
                                .SetParent<RdmaTransport>()
                                .AddConstructor<OtherTransport>();
        return tid;
    }
};

NS_OBJECT_ENSURE_REGISTERED(OtherTransport);

/// Restores all defaults in the end.
class Defaults : public testing::Test
{
  protected:
    Defaults()
    {
        UsePicoseconds();
    }

    ~Defaults() override
    {
        Config::Reset();
    }
};

std::string
DefaultText(const std::string& name)
{
    const auto declared = FindAttributes(name);
    return declared.empty()
               ? std::to_string(AttributeDefault<UintegerValue>(name))
               : GetDefault(name)->SerializeToString(declared.front().information.checker);
}

/// Give an attribute another default by a flag. @return whether there is a text that does it
bool
ChangeByFlag(const std::string& name)
{
    const std::string before = DefaultText(name);
    for (const char* text : {"3",
                             "5",
                             "0.5",
                             "0.25",
                             "1234",
                             "1.5",
                             "7us",
                             "3Gb/s",
                             "false",
                             "true",
                             "3=4",
                             "25Gb/s=70000",
                             "Drop",
                             "Forward",
                             "Avoid",
                             "ns3::RdmaHpcc",
                             "ns3::RdmaSwift",
                             "ns3::RdmaIrn",
                             "ns3::RdmaGoBackN",
                             "ns3::FlowletRouting",
                             "ns3::SprayRouting",
                             "ns3::StaticThresholds",
                             "ns3::DynamicThresholds",
                             "ns3::OtherTransport",
                             "ns3::RdmaTransport"})
    {
        const bool isType = std::string(text).starts_with("ns3::");
        const bool wantsType = name.ends_with("Type") || name.ends_with("::CongestionControl");
        const bool rightType =
            !isType ||
            (name.ends_with("Control") &&
             (std::string(text) == "ns3::RdmaHpcc" || std::string(text) == "ns3::RdmaSwift")) ||
            (name.ends_with("RecoveryType") &&
             (std::string(text) == "ns3::RdmaIrn" || std::string(text) == "ns3::RdmaGoBackN")) ||
            (name.ends_with("RoutingPolicyType") && std::string(text).ends_with("Routing")) ||
            (name.ends_with("BufferPolicyType") && std::string(text).ends_with("Thresholds")) ||
            (name.ends_with("TransportType") && std::string(text).ends_with("Transport"));
        if (isType != wantsType || !rightType)
        {
            continue;
        }
        try
        {
            ApplyNs3Flags({"--" + name + "=" + text});
        }
        catch (const InputError&)
        {
            continue;
        }
        if (DefaultText(name) != before)
        {
            return true;
        }
    }
    return false;
}

/// @return the names of all attributes of this module that can be set when an object is made
std::vector<std::string>
AttributesOfTheModule()
{
    std::vector<std::string> names;
    for (uint16_t i = 0; i < TypeId::GetRegisteredN(); ++i)
    {
        const TypeId type = TypeId::GetRegistered(i);
        for (std::size_t k = 0; type.GetGroupName() == "RdmaQbb" && k < type.GetAttributeN(); ++k)
        {
            if (type.GetAttribute(k).flags & TypeId::ATTR_CONSTRUCT)
            {
                names.push_back(type.GetName() + "::" + type.GetAttribute(k).name);
            }
        }
    }
    return names;
}

/// @return what a file that gives the key says, if its first attribute then has another default
std::optional<FabricConf>
ReadAnother(const FabricConfKey& key)
{
    const std::string before = DefaultText(key.attributes.front());
    for (const char* text : {"0",
                             "1",
                             "0.5",
                             "6",
                             "7",
                             "2000",
                             "2Gb/s",
                             "5 2",
                             "1.01",
                             "irn",
                             "spray",
                             "static",
                             "OtherTransport",
                             "rod",
                             "reps",
                             "rccc",
                             "Trident4",
                             "drop",
                             "persistent",
                             "acknowledged",
                             "ENGINE",
                             "1 25000000000 70",
                             "1 25000000000 0.1"})
    {
        std::istringstream line(key.name + " " + text + "\n");
        try
        {
            FabricConf conf = FabricConf::Read(line, "conf");
            conf.Apply();
            if (DefaultText(key.attributes.front()) != before)
            {
                return conf;
            }
        }
        catch (const InputError&)
        {
        }
        Config::Reset();
    }
    return std::nullopt;
}

/// @return a class that objects can be made of: that one, or one derived from it
TypeId
ConcreteClass(TypeId type)
{
    for (std::size_t i = 0; !type.HasConstructor() && i < TypeId::GetRegisteredN(); ++i)
    {
        const TypeId each = TypeId::GetRegistered(i);
        type = each.HasConstructor() && each.IsChildOf(type) ? each : type;
    }
    return type;
}

/// @return what objects of the class that declares an attribute have
std::string
ValueOfNewObject(const DeclaredAttribute& attribute)
{
    ObjectFactory factory;
    factory.SetTypeId(ConcreteClass(attribute.type));
    StringValue value;
    factory.Create<Object>()->GetAttribute(attribute.information.name, value);
    return value.Get();
}

/// Compares an object, and what its pointers lead to, with the defaults in force.
class Walk
{
  public:
    void Visit(const Ptr<Object>& object, bool ofNvSwitch)
    {
        if (!object || !m_seen.insert(PeekPointer(object)).second)
        {
            return;
        }
        for (TypeId type = object->GetInstanceTypeId(); type != Object::GetTypeId();
             type = type.GetParent())
        {
            for (std::size_t i = 0; type.GetGroupName() == "RdmaQbb" && i < type.GetAttributeN();
                 ++i)
            {
                Compare(object, type, type.GetAttribute(i), ofNvSwitch);
            }
        }
    }

    const std::set<std::string>& GetCompared() const
    {
        return m_compared;
    }

  private:
    void Compare(const Ptr<Object>& object,
                 TypeId type,
                 const TypeId::AttributeInformation& attribute,
                 bool ofNvSwitch)
    {
        if (attribute.checker->GetValueTypeName() == "ns3::PointerValue")
        {
            PointerValue pointer;
            object->GetAttribute(attribute.name, pointer);
            Visit(pointer.Get<Object>(), ofNvSwitch);
            return;
        }
        const std::string name = type.GetName() + "::" + attribute.name;
        if (OF_THE_TOPOLOGY.contains(name) || (ofNvSwitch && OF_NVSWITCHES.contains(name)))
        {
            return;
        }
        StringValue value;
        object->GetAttribute(attribute.name, value);
        EXPECT_EQ(value.Get(), attribute.initialValue->SerializeToString(attribute.checker))
            << name;
        m_compared.insert(name);
    }

    std::set<const Object*> m_seen;
    std::set<std::string> m_compared;
};

} // namespace

TEST(AttributeWalk, EveryKeyStandsForAttributesOrIsOfTheRun)
{
    for (const FabricConfKey& key : FabricConfKeys())
    {
        EXPECT_EQ(key.attributes.empty(), OF_THE_RUN.contains(key.name)) << key.name;
        for (const std::string& attribute : key.attributes)
        {
            EXPECT_TRUE(GetDefault(attribute)) << key.name << ": " << attribute;
        }
    }
}

TEST_F(Defaults, AnMmuKeepsTheMaskThatItHasBeforeAFabricIsBuilt)
{
    const NodeContainer hosts(2);
    RdmaHostHelper().Install(hosts);
    const Ptr<Node> access = SwitchHelper().Create();
    QbbHelper().Install(hosts, access);
    Config::Set("/NodeList/*/$ns3::SwitchNode/Mmu/LosslessMask", UintegerValue(1 << 5));
    Ptr<RdmaFabric> fabric = CreateObject<RdmaFabric>();
    fabric->Build(NodeContainer(hosts, access));
    const SwitchMmu& mmu = *fabric->GetSwitch(2)->GetMmu();
    EXPECT_TRUE(mmu.GetLimits().IsLossless(5));
    EXPECT_FALSE(mmu.GetLimits().IsLossless(3));
    Simulator::Destroy();
    fabric->Dispose();
}

TEST_F(Defaults, AFlagWinsOverTheConfForEveryKey)
{
    for (const FabricConfKey& key : FabricConfKeys())
    {
        if (key.attributes.empty())
        {
            continue;
        }
        SCOPED_TRACE(key.name);
        const std::optional<FabricConf> conf = ReadAnother(key);
        ASSERT_TRUE(conf) << "a value that is not the default";
        for (const auto& [place, settings] : conf->settings)
        {
            for (const AttributeSetting& setting : settings)
            {
                const std::string ofConf = DefaultText(setting.name);
                ASSERT_TRUE(ChangeByFlag(setting.name)) << setting.name;
                const std::string ofFlag = DefaultText(setting.name);
                EXPECT_NE(ofFlag, ofConf) << setting.name;
                for (const DeclaredAttribute& each : FindAttributes(setting.name))
                {
                    EXPECT_EQ(ValueOfNewObject(each), ofFlag) << setting.name;
                }
            }
        }
        Config::Reset();
    }
    Simulator::Destroy();
}

TEST_F(Defaults, AreOfTheFileThenOfTheEnvironmentThenOfFlags)
{
    // Programs apply the file, then the environment, then flags.
    std::istringstream text("PACKET_PAYLOAD_SIZE 9000\nCC_MODE 3\n");
    FabricConf::Read(text, "conf").Apply();
    setenv("NS_ATTRIBUTE_DEFAULT", "ns3::RdmaHw::Mtu=2048;ns3::RdmaHw::AckInterval=9", 1);
    ApplyNs3Environment();
    EXPECT_EQ(DefaultText("ns3::RdmaHw::Mtu"), "2048");
    ApplyNs3Flags({"--ns3::RdmaHw::Mtu=4096"});
    Ptr<RdmaHw> host = CreateObject<RdmaHw>();
    EXPECT_EQ(host->GetMtu(), 4096U);
    EXPECT_TRUE(DynamicCast<RdmaHpcc>(host->GetCongestionOps()));
    UintegerValue interval;
    host->GetAttribute("AckInterval", interval);
    EXPECT_EQ(interval.Get(), 9U);
}

TEST_F(Defaults, EveryAttributeThatAFlagChangesIsWhatTheObjectsOfAFabricHave)
{
    for (const std::string& name : AttributesOfTheModule())
    {
        EXPECT_TRUE(ChangeByFlag(name)) << name;
    }
    // Room enough for what the flags above ask for.
    ApplyNs3Flags({"--ns3::SwitchMmu::BufferBytes=77777777",
                   "--ns3::SwitchMmu::ReserveBytes=5555",
                   "--ns3::NVSwitchNode::BufferBytes=99999999",
                   "--ns3::SwitchMmu::PfcResponseTime=5us",
                   "--ns3::QbbChannel::CreditBytes=0"}); // goes with no reduction in switches
    std::istringstream links(TWO_SERVERS);
    const ClusterTopology topology = ClusterTopology::Read(links, "topology");
    FabricConf conf;
    Ptr<RdmaFabric> fabric = CreateObject<RdmaFabric>();
    fabric->Build(topology, conf);

    Walk walk;
    walk.Visit(fabric, false);
    for (uint32_t node = 0; node < topology.nodeCount; ++node)
    {
        const bool isNvSwitch = topology.Is(node, ClusterTopology::NodeKind::NvSwitch);
        walk.Visit(fabric->GetNode(node), isNvSwitch);
        walk.Visit(fabric->GetNode(node)->GetObject<RdmaDriver>(), false);
        for (uint32_t i = 0; i < fabric->GetNode(node)->GetNDevices(); ++i)
        {
            walk.Visit(fabric->GetNode(node)->GetDevice(i), false);
        }
    }
    for (const char* name : {"ns3::RdmaHw::Mtu",
                             "ns3::RdmaDriver::VariableWindow",
                             "ns3::SwitchMmu::Alpha",
                             "ns3::SwitchNode::EcmpSeed",
                             "ns3::QbbNetDevice::PauseTime",
                             "ns3::RdmaFabric::QpsPerConnection",
                             "ns3::RdmaLossRecovery::ReorderTime",
                             "ns3::NVSwitchNode::BufferBytes",
                             "ns3::NVSwitchNode::ExtraBytes",
                             "ns3::RdmaFabric::LossTime",
                             "ns3::RdmaHw::MaxBackoff",
                             "ns3::RdmaHw::MaxPausedTimeouts"})
    {
        EXPECT_TRUE(walk.GetCompared().contains(name)) << name;
    }
    Simulator::Destroy();
    fabric->Dispose();
}

TEST_F(Defaults, AnNvSwitchHasABufferAndAThresholdOfItsOwn)
{
    ApplyNs3Flags(
        {"--ns3::NVSwitchNode::DynamicThreshold=false", "--ns3::NVSwitchNode::ExtraBytes=123456"});
    BuiltFabric built(TWO_SERVERS, "");
    const auto isDynamic = [&built](uint32_t node) {
        BooleanValue dynamic;
        built.fabric->GetSwitch(node)->GetMmu()->GetAttribute("DynamicThreshold", dynamic);
        return dynamic.Get();
    };
    const uint32_t nvswitch = 4;
    const uint32_t hub = 6;
    EXPECT_FALSE(isDynamic(nvswitch));
    EXPECT_TRUE(isDynamic(hub));
    const SwitchMmu& mmu = *built.fabric->GetSwitch(nvswitch)->GetMmu();
    EXPECT_EQ(mmu.GetLimits().GetBufferBytes(), 2 * mmu.GetLimits().GetAllHeadroom() + 123456);
}

TEST_F(Defaults, ABufferThatIsTooSmallIsRefusedByTheNameOfWhatSaysSo)
{
    const auto refusal = [](const std::string& conf, const std::vector<std::string>& flags) {
        TextFabric fabric(TWO_SERVERS, conf);
        ApplyNs3Flags(flags);
        try
        {
            fabric.Build();
        }
        catch (const InputError& error)
        {
            const std::string line = error.what();
            return line.substr(0, line.find(" cannot hold"));
        }
        return std::string("built");
    };
    const std::string flag = "--ns3::SwitchMmu::BufferBytes=100";
    EXPECT_EQ(refusal("BUFFER_SIZE 2000\n", {}), "conf:1: BUFFER_SIZE of 2000 bytes");
    EXPECT_EQ(refusal("BUFFER_SIZE 2000\n", {flag}), "ns3::SwitchMmu::BufferBytes: 100 bytes");
    EXPECT_EQ(refusal("", {flag}), "ns3::SwitchMmu::BufferBytes: 100 bytes");
    Config::Reset();
    EXPECT_EQ(refusal("", {"--ns3::NVSwitchNode::BufferBytes=100"}),
              "ns3::NVSwitchNode::BufferBytes: 100 bytes");
}

TEST_F(Defaults, WhatATopologyFileSaysIsRefusedAsAFlag)
{
    for (const char* flag : {"--ns3::QbbNetDevice::DataRate=10Gb/s",
                             "--ns3::QbbChannel::Delay=5us",
                             "--ns3::QbbChannel::ErrorRate=0.1",
                             "--ns3::QbbChannel::CreditPriorities=8",
                             "--ns3::NVSwitchNode::EcnEnabled=true",
                             "--ns3::RdmaClient::Bytes=3"})
    {
        EXPECT_THROW(ApplyNs3Overrides({flag}), InputError) << flag;
        EXPECT_NO_THROW(ApplyNs3Flags({flag})) << flag;
    }
    EXPECT_NO_THROW(ApplyNs3Overrides({"--ns3::SwitchNode::EcnEnabled=false"}));
    setenv("NS_ATTRIBUTE_DEFAULT", "ns3::QbbChannel::Delay=5us", 1);
    EXPECT_THROW(ApplyNs3Overrides({}), InputError);
    unsetenv("NS_ATTRIBUTE_DEFAULT");
}

TEST_F(Defaults, ConfigPathsReachHostsSwitchesAndTheirPlugIns)
{
    BuiltFabric built(TWO_SERVERS, "CC_MODE 1\n");
    Config::Set("/NodeList/*/$ns3::RdmaDriver/RdmaHw/AckInterval", UintegerValue(2000));
    Config::Set(
        "/NodeList/*/$ns3::RdmaDriver/RdmaHw/CongestionOps/$ns3::RdmaDcqcn/FastRecoveryTimes",
        UintegerValue(4));
    Config::Set("/NodeList/*/$ns3::RdmaDriver/RdmaHw/LossRecovery/$ns3::RdmaGoBackN/ChunkBytes",
                UintegerValue(8000));
    const uint32_t hub = 6;
    SwitchMmu& mmu = *built.fabric->GetSwitch(hub)->GetMmu();
    const uint64_t shared = mmu.GetLimits().GetSharedBytes();
    Config::Set("/NodeList/*/$ns3::SwitchNode/Mmu/BufferBytes", UintegerValue(20'000'000));

    UintegerValue value;
    built.fabric->GetHw(3).GetAttribute("AckInterval", value);
    EXPECT_EQ(value.Get(), 2000U);
    built.fabric->GetHw(3).GetCongestionOps()->GetAttribute("FastRecoveryTimes", value);
    EXPECT_EQ(value.Get(), 4U);
    built.fabric->GetHw(0).GetLossRecovery()->GetAttribute("ChunkBytes", value);
    EXPECT_EQ(value.Get(), 8000U);
    EXPECT_EQ(mmu.GetLimits().GetSharedBytes(), shared + 20'000'000 - (16U << 20))
        << "divided again";
    // One host's plug-in is not another's.
    Config::Set(
        "/NodeList/0/$ns3::RdmaDriver/RdmaHw/CongestionOps/$ns3::RdmaDcqcn/FastRecoveryTimes",
        UintegerValue(2));
    built.fabric->GetHw(3).GetCongestionOps()->GetAttribute("FastRecoveryTimes", value);
    EXPECT_EQ(value.Get(), 4U);
}

TEST_F(Defaults, WhatAFabricWasPlannedWithIsNotChangedLater)
{
    BuiltFabric built(TWO_SERVERS, "CC_MODE 3\n");
    const auto refuses = [](ObjectBase& object, const char* attribute) {
        StringValue value;
        object.GetAttribute(attribute, value);
        return !object.SetAttributeFailSafe(attribute, value);
    };
    RdmaHw& host = built.fabric->GetHw(0);
    for (const char* name :
         {"Mtu", "DataOverhead", "NvlinkOverhead", "AckBytes", "CongestionControl"})
    {
        EXPECT_TRUE(refuses(host, name)) << name;
    }
    EXPECT_TRUE(refuses(*host.GetCongestionOps(), "TelemetryBytes"));
    EXPECT_TRUE(refuses(built.fabric->GetDevice(0, 0), "DataRate"));
    EXPECT_TRUE(refuses(built.fabric->GetChannel(0), "Delay"));
    EXPECT_TRUE(refuses(built.fabric->GetChannel(0), "ErrorRate"));
    const uint32_t hub = 6;
    EXPECT_TRUE(refuses(*built.fabric->GetSwitch(hub), "EcmpSeed"));
    EXPECT_TRUE(refuses(*built.fabric->GetSwitch(hub), "RoutingPolicyType"));
    EXPECT_FALSE(refuses(*built.fabric->GetSwitch(hub), "EcnEnabled"));
}

TEST_F(Defaults, AreDescribedSoThatAnyOtherDiffers)
{
    const std::string declared = DescribeDefaults();
    EXPECT_EQ(DescribeDefaults(), declared);
    for (const std::string& name : AttributesOfTheModule())
    {
        if (ChangeByFlag(name))
        {
            EXPECT_NE(DescribeDefaults(), declared) << name;
            Config::Reset();
            EXPECT_EQ(DescribeDefaults(), declared) << name;
        }
    }
    // ns-3 writes six digits.
    ApplyNs3Flags({"--ns3::RdmaTimely::Beta=0.80000001"});
    EXPECT_NE(DescribeDefaults(), declared);
    Config::Reset();
    ApplyNs3Flags({"--ns3::RdmaTimely::TLow=50000001ps"});
    EXPECT_NE(DescribeDefaults(), declared);
    Config::Reset();
    ApplyNs3Flags({"--RngRun=2"});
    EXPECT_NE(DescribeDefaults(), declared);
}

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/node.h"
#include "ns3/object.h"
#include "ns3/qbb-channel.h"
#include "ns3/qbb-net-device.h"
#include "ns3/simulator.h"
#include "ns3/string.h"

#include <gtest/gtest.h>
#include <map>
#include <string>

namespace
{

using ns3::Ptr;
using ns3::QbbNetDevice;

/// Values that differ from the defaults, for all attributes of a port.
const std::map<std::string, std::string> VALUES = {
    {"DataRate", "12345000000bps"},
    {"PauseTime", "7us"},
    {"OtherPriority", "5"},
    {"OtherQueueLimit", "4242"},
    {"Mtu", "1234"},
    {"QueueWeights", "3=4"},
};

std::string
Get(const QbbNetDevice& device, const ns3::TypeId::AttributeInformation& attribute)
{
    ns3::StringValue value;
    device.GetAttribute(attribute.name, value);
    return value.Get();
}

class PortCopy : public testing::Test
{
  protected:
    ~PortCopy() override
    {
        ns3::Simulator::Destroy();
    }
};

TEST_F(PortCopy, HasAllAttributesOfItsModel)
{
    ns3::ObjectFactory factory("ns3::QbbNetDevice");
    auto plain = factory.Create<QbbNetDevice>();
    for (const auto& [name, value] : VALUES)
    {
        factory.Set(name, ns3::StringValue(value));
    }
    auto model = factory.Create<QbbNetDevice>();
    auto copy = ns3::CopyObject<QbbNetDevice>(model);
    EXPECT_EQ(copy->GetInstanceTypeId(), QbbNetDevice::GetTypeId());
    const ns3::TypeId tid = QbbNetDevice::GetTypeId();
    ASSERT_EQ(tid.GetAttributeN(), VALUES.size()) << "a value for each attribute above";
    for (std::size_t i = 0; i < tid.GetAttributeN(); ++i)
    {
        const auto attribute = tid.GetAttribute(i);
        EXPECT_EQ(Get(*copy, attribute), Get(*model, attribute)) << attribute.name;
        EXPECT_NE(Get(*copy, attribute), Get(*plain, attribute)) << attribute.name;
    }
}

TEST_F(PortCopy, IsJoinedToNothing)
{
    auto model = ns3::CreateObject<QbbNetDevice>();
    auto far = ns3::CreateObject<QbbNetDevice>();
    auto node = ns3::CreateObject<ns3::Node>();
    auto farNode = ns3::CreateObject<ns3::Node>();
    node->AddDevice(model);
    farNode->AddDevice(far);
    auto cable = ns3::CreateObject<ns3::QbbChannel>();
    model->Attach(cable);
    far->Attach(cable);

    auto copy = ns3::CopyObject<QbbNetDevice>(model);
    EXPECT_EQ(copy->GetNode(), nullptr);
    EXPECT_EQ(copy->GetChannel(), nullptr);
    EXPECT_EQ(copy->GetPeer(), nullptr);
    EXPECT_NE(&copy->GetPool(), &model->GetPool());

    // It may be joined to others like any port.
    auto otherNode = ns3::CreateObject<ns3::Node>();
    otherNode->AddDevice(copy);
    auto copyOfFar = ns3::CopyObject<QbbNetDevice>(far);
    farNode->AddDevice(copyOfFar);
    auto otherCable = ns3::CreateObject<ns3::QbbChannel>();
    copy->Attach(otherCable);
    copyOfFar->Attach(otherCable);
    EXPECT_EQ(copy->GetPeer(), copyOfFar);
    EXPECT_EQ(model->GetPeer(), far);
}

TEST_F(PortCopy, IsWatchedByNobody)
{
    auto model = ns3::CreateObject<QbbNetDevice>();
    uint32_t calls = 0;
    const auto count = [](uint32_t* seen, Ptr<const QbbNetDevice>, const ns3::QbbFrame&) {
        ++*seen;
    };
    model->TraceConnectWithoutContext(
        "FrameTx",
        ns3::MakeBoundCallback(
            static_cast<void (*)(uint32_t*, Ptr<const QbbNetDevice>, const ns3::QbbFrame&)>(count),
            &calls));
    EXPECT_TRUE(model->IsWatched());
    EXPECT_FALSE(ns3::CopyObject<QbbNetDevice>(model)->IsWatched());
}

} // namespace

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/collective-offload.h"
#include "ns3/header.h"
#include "ns3/log.h"
#include "ns3/object.h"
#include "ns3/test.h"
#include "ns3/type-id.h"

#include <algorithm>
#include <string>

using namespace ns3;

namespace
{

/// Whether NS_LOG=<class> or that of a class it inherits from tells what objects of a type do.
bool
HasLog(TypeId tid)
{
    const auto* components = LogComponent::GetComponentList();
    for (; tid != Object::GetTypeId(); tid = tid.GetParent())
    {
        const std::string name = tid.GetName().substr(std::string("ns3::").size());
        if (std::any_of(components->begin(), components->end(), [&name](const auto& component) {
                return name.starts_with(component.first);
            }))
        {
            return true;
        }
        if (tid == tid.GetParent())
        {
            return false;
        }
    }
    return false;
}

/// Every class of the module whose objects a program can make logs what they do, but for headers,
/// which print themselves, and for a store of parameters, which does nothing.
class ModelsLogTestCase : public TestCase
{
  public:
    ModelsLogTestCase()
        : TestCase("every model has a log component of its name, or of its base's")
    {
    }

  private:
    void DoRun() override
    {
        uint32_t models = 0;
        for (uint16_t i = 0; i < TypeId::GetRegisteredN(); ++i)
        {
            const TypeId tid = TypeId::GetRegistered(i);
            if (tid.GetGroupName() != "RdmaQbb" || !tid.HasConstructor() ||
                tid.IsChildOf(Header::GetTypeId()) || tid == CollectiveOffload::GetTypeId())
            {
                continue;
            }
            ++models;
            NS_TEST_EXPECT_MSG_EQ(HasLog(tid), true, tid.GetName() << " has no log component");
        }
        NS_TEST_EXPECT_MSG_GT(models, 20, "there are as many models");
    }
};

class RdmaQbbLogTestSuite : public TestSuite
{
  public:
    RdmaQbbLogTestSuite()
        : TestSuite("rdma-qbb-log", Type::UNIT)
    {
        AddTestCase(new ModelsLogTestCase);
    }
};

static RdmaQbbLogTestSuite g_rdmaQbbLogTestSuite; //!< registers the suite

} // namespace

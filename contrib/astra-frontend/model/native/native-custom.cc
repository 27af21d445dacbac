/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "native-custom.h"

#include "astra-frontend/model/chakra/chakra-window.h"

#include "ns3/input-error.h"
#include "ns3/input-file.h"

namespace AstraSim
{

namespace
{

/// Tags that belong to one instance of a collective.
constexpr uint32_t TAGS = 256;

/// One rank's way through its trace.
class CustomRank : public RankCollective
{
  public:
    CustomRank(const std::string& path,
               const std::vector<int>& ranks,
               RankNetwork& network,
               int tagBase,
               const MessageInfo& info,
               std::function<void()> done)
        : m_window(path),
          m_ranks(ranks),
          m_network(network),
          m_tagBase(tagBase),
          m_info(info),
          m_done(std::move(done))
    {
    }

    void Start() override
    {
        Run();
        if (m_window.Done())
        {
            // The done handler may run from the event loop only.
            m_network.Schedule(
                0,
                [](void* self) { static_cast<CustomRank*>(self)->m_done(); },
                this);
        }
    }

    std::string DescribeWait() const override
    {
        std::string text = "waits for";
        for (const auto& line : m_window.DescribeRunning())
        {
            text += " " + line;
        }
        return text + " of " + m_window.GetTrace().GetPath();
    }

  private:
    /// The argument of a node's event.
    struct Event
    {
        CustomRank* rank;
        uint64_t id;
    };

    void Run()
    {
        while (const ChakraNode* node = m_window.Next())
        {
            Begin(*node);
        }
    }

    void Begin(const ChakraNode& node)
    {
        auto* event = new Event{this, node.id};
        MessageInfo info = m_info;
        switch (node.type)
        {
        case ChakraNode::Type::Send:
            m_network.Send({.dst = PeerOf(node, node.destination),
                            .tag = TagOf(node),
                            .bytes = node.commBytes,
                            .info = &info,
                            .handler = &CustomRank::Ended,
                            .arg = event});
            break;
        case ChakraNode::Type::Receive:
            m_network.Receive({.src = PeerOf(node, node.source),
                               .tag = TagOf(node),
                               .bytes = node.commBytes,
                               .info = &info,
                               .handler = &CustomRank::Ended,
                               .arg = event});
            break;
        case ChakraNode::Type::Compute:
        case ChakraNode::Type::Metadata:
            m_network.Schedule(node.duration, &CustomRank::Ended, event);
            break;
        default:
            delete event;
            m_window.GetTrace().Fail(node.id,
                                     "cannot be part of a collective algorithm",
                                     "sends, receives and computations");
        }
    }

    int PeerOf(const ChakraNode& node, uint32_t peer) const
    {
        if (peer >= m_ranks.size() || node.commBytes == 0 || node.tag >= TAGS)
        {
            m_window.GetTrace().Fail(node.id,
                                     "sends or receives " + std::to_string(node.commBytes) +
                                         " bytes with rank " + std::to_string(peer) + ", tag " +
                                         std::to_string(node.tag),
                                     "bytes above 0, a rank below " +
                                         std::to_string(m_ranks.size()) + ", a tag below 256");
        }
        return m_ranks[peer];
    }

    int TagOf(const ChakraNode& node) const
    {
        return m_tagBase + static_cast<int>(node.tag);
    }

    static void Ended(void* argument)
    {
        const std::unique_ptr<Event> event(static_cast<Event*>(argument));
        CustomRank& rank = *event->rank;
        rank.m_window.Finish(event->id);
        rank.Run();
        if (rank.m_window.Done())
        {
            rank.m_done();
        }
    }

    ChakraWindow m_window;
    const std::vector<int>& m_ranks;
    RankNetwork& m_network;
    int m_tagBase;
    MessageInfo m_info;
    std::function<void()> m_done;
};

class CustomPlan : public CollectivePlan
{
  public:
    CustomPlan(std::string prefix, const CommGroup& group, uint64_t messages)
        : CollectivePlan({"Custom", "-", 1, messages, 0}),
          m_prefix(std::move(prefix)),
          m_ranks(group.ranks)
    {
    }

    std::unique_ptr<RankCollective> CreateRank(uint32_t rankIndex,
                                               RankNetwork& network,
                                               int tagBase,
                                               const MessageInfo& info,
                                               std::function<void()> done) const override
    {
        return std::make_unique<CustomRank>(m_prefix + "." + std::to_string(rankIndex) + ".et",
                                            m_ranks,
                                            network,
                                            tagBase,
                                            info,
                                            std::move(done));
    }

  private:
    std::string m_prefix;
    const std::vector<int>& m_ranks;
};

} // namespace

std::shared_ptr<const CollectivePlan>
NativeCustom::Plan(const CommGroup& group, const CollectiveRequest&)
{
    const auto path = [this](std::size_t index) {
        return m_prefix + "." + std::to_string(index) + ".et";
    };
    const std::size_t ranks = group.ranks.size();
    if (!ns3::InputExists(path(ranks - 1)) || ns3::InputExists(path(ranks)))
    {
        throw ns3::InputError(m_prefix,
                              0,
                              "is not an algorithm for " + std::to_string(ranks) + " ranks",
                              "files .0.et to ." + std::to_string(ranks - 1) + ".et");
    }
    uint64_t messages = 0;
    for (std::size_t index = 0; index < ranks; ++index)
    {
        ChakraTrace trace(path(index));
        for (ChakraNode node; trace.Next(node);)
        {
            messages += node.type == ChakraNode::Type::Send;
        }
    }
    return std::make_shared<CustomPlan>(m_prefix, group, messages);
}

} // namespace AstraSim

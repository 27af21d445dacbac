/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SERVING_POLICY_H
#define SERVING_POLICY_H

#include "ns3/csv-cell.h"
#include "ns3/named-kind.h"
#include "ns3/rows.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace AstraSim
{

/**
 * @file
 * Policies of serving instances: plug-ins.
 *
 * A contract says when a policy is asked: RequestRouter, QueueOrder, CapacityPolicy and Preemption.
 * A static object makes a class known to INFERENCE files by its name, from any file of a program:
 *
 * @code
 * // "router sticky" and "sticky_instance 3"; without the latter, the first.
 * class StickyRouter : public RequestRouter
 * {
 *   public:
 *     std::size_t Choose(std::span<const Target> targets, const Sequence&) override
 *     {
 *         return std::min<std::size_t>(m_target, targets.size() - 1);
 *     }
 *
 *     std::vector<ns3::Row> GetKeys() override
 *     {
 *         return {{"sticky_instance", ns3::Whole(m_target, 0, 1000), "that all requests go to"}};
 *     }
 *
 *   private:
 *     uint32_t m_target{0};
 * };
 *
 * const PolicyKind<RequestRouter> sticky("sticky", "always the same instance",
 *                                        [] { return std::make_unique<StickyRouter>(); });
 * @endcode
 */

/// The base of all policies.
class ServingPolicy
{
  public:
    virtual ~ServingPolicy() = default;

    /// @return keys of files that it alone reads, into its members
    virtual std::vector<ns3::Row> GetKeys()
    {
        return {};
    }
};

/// A user's choice of a policy.
struct PolicyChoice
{
    std::string name;
    std::map<std::string, std::string> keys{}; ///< values of policies' own keys
};

/// A policy by its name. @tparam Contract its base class
template <typename Contract>
class PolicyKind : public ns3::NamedKind<PolicyKind<Contract>>
{
  public:
    using Make = std::function<std::unique_ptr<Contract>()>;

    /// @param name that no other policy of its contract has
    /// @param sentence for users
    PolicyKind(std::string name, std::string sentence, Make make)
        : ns3::NamedKind<PolicyKind>(std::move(name)),
          m_sentence(std::move(sentence)),
          m_make(std::move(make))
    {
    }

    std::unique_ptr<Contract> Create() const
    {
        return m_make();
    }

    /// @return the policy that a user has chosen by the name of one that exists, with its keys
    static std::unique_ptr<Contract> Create(const PolicyChoice& choice)
    {
        auto policy = PolicyKind::Find(choice.name)->Create();
        for (const ns3::Row& row : policy->GetKeys())
        {
            const auto given = choice.keys.find(row.name);
            if (given != choice.keys.end())
            {
                row.value.take(given->second);
            }
        }
        return policy;
    }

    /// @return a line for each policy: @p key, name, meaning; the documentation's
    static std::string ToCsv(const std::string& key)
    {
        std::string lines;
        for (const PolicyKind* kind : PolicyKind::GetAll())
        {
            lines += key + "," + kind->GetName() + "," + ns3::CsvCell(kind->m_sentence) + "\n";
        }
        return lines;
    }

  private:
    std::string m_sentence;
    Make m_make;
};

} // namespace AstraSim

#endif /* SERVING_POLICY_H */

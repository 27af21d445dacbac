/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef POLICY_ROWS_H
#define POLICY_ROWS_H

#include "ns3/rows.h"
#include "ns3/serving-policy.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace AstraSim
{

/// The name of a policy that exists.
template <typename Contract>
ns3::RowValue
PolicyName(PolicyChoice& target)
{
    std::vector<std::pair<std::string, std::string>> names;
    for (const auto* kind : PolicyKind<Contract>::GetAll())
    {
        names.emplace_back(kind->GetName(), kind->GetName());
    }
    return ns3::Word(target.name, names);
}

/**
 * Add the key that chooses a policy, and the keys that single policies read.
 * @param isChosen tells whether the policy of a name is chosen
 */
template <typename Contract>
void
AddPolicy(std::vector<ns3::Row>& rows,
          const std::string& key,
          const std::string& sentence,
          PolicyChoice& target,
          const std::function<bool(const std::string& name)>& isChosen)
{
    rows.push_back({key, PolicyName<Contract>(target), sentence});
    for (const auto* kind : PolicyKind<Contract>::GetAll())
    {
        const std::shared_ptr<Contract> example = kind->Create();
        for (ns3::Row& row : example->GetKeys())
        {
            row.idle = [key, isChosen, name = kind->GetName()] {
                return isChosen(name) ? "" : "without " + key + " " + name;
            };
            row.value.take =
                [example, &target, name = row.name, take = row.value.take](std::string_view text) {
                    target.keys[name] = text;
                    return take(text);
                };
            rows.push_back(std::move(row));
        }
    }
}

} // namespace AstraSim

#endif /* POLICY_ROWS_H */

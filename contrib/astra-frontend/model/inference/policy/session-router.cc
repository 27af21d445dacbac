/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "request-router.h"

#include <algorithm>
#include <unordered_map>

namespace AstraSim
{

namespace
{

/// Keeps a conversation's cache in use, as session affinity of load balancers does.
class SessionRouter : public RequestRouter
{
  public:
    std::size_t Choose(std::span<const Target> targets, const Sequence& sequence) override
    {
        const auto session = sequence.request ? sequence.request->session : std::nullopt;
        if (const auto known = session ? m_places.find(*session) : m_places.end();
            known != m_places.end())
        {
            const auto place = std::ranges::find(targets, known->second, &Target::place);
            if (place != targets.end())
            {
                return static_cast<std::size_t>(place - targets.begin());
            }
        }
        const std::size_t chosen = m_first->Choose(targets, sequence);
        if (session)
        {
            m_places[*session] = targets[chosen].place;
        }
        return chosen;
    }

  private:
    std::unique_ptr<RequestRouter> m_first =
        PolicyKind<RequestRouter>::Find("least_loaded")->Create();
    std::unordered_map<uint32_t, ServingPlace> m_places; ///< by session
};

const PolicyKind<RequestRouter> SESSION(
    "session",
    "that of the session's request before; of a first request, or one without a session, as "
    "``least_loaded``",
    [] { return std::make_unique<SessionRouter>(); });

} // namespace

} // namespace AstraSim

/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * FastForward: operations that run on the network of the run, as there is nothing to reuse.
 */
#include "fast-forward-part.h"

#include <algorithm>
#include <utility>

namespace AstraSim
{

bool
FastForward::MayRunInPlace(const Operation& operation) const
{
    // What is left of ghosts on the network is no part of anything.
    return m_inPlace && m_ghosts == 0 &&
           (!m_begun.contains(operation.shape->digest) ||
            (operation.what.isMessage && MeetsWhatIsInPlace(operation)));
}

void
FastForward::Decide()
{
    const std::vector<Operation*> undecided = std::exchange(m_undecided, {});
    boost::unordered_flat_map<Digest, uint32_t, Digest::Hash> alike;
    for (const Operation* operation : undecided)
    {
        ++alike[operation->shape->digest];
    }
    for (Operation* operation : undecided)
    {
        operation->isUndecided = false;
        const Digest& shape = operation->shape->digest;
        const bool joins = operation->what.isMessage && MeetsWhatIsInPlace(*operation);
        // Several of a shape at once repeat each other.
        const bool isNew = m_begun.insert(shape).second && alike[shape] == 1;
        if ((isNew || joins) && m_ghosts == 0 && MeetsNothingForwarded(*operation))
        {
            OpenInPlace(*operation);
        }
        TakeIn(*operation);
    }
}

bool
FastForward::MeetsWhatIsInPlace(const Operation& operation) const
{
    const auto& links = operation.shape->links;
    return std::any_of(links.begin(), links.end(), [this](uint32_t link) {
        const auto& users = m_users[link];
        return std::any_of(users.begin(), users.end(), [](const Operation* user) {
            return user->part->isInPlace;
        });
    });
}

bool
FastForward::MeetsNothingForwarded(const Operation& operation) const
{
    // A collective counts once all have begun: what ranks have left by now will be over then.
    const bool waits = m_config.tail > 0 && !operation.HasBegun() && NeedsAllRanks(operation.what);
    const auto isInTheWay = [&](const Operation* user) {
        return !user->part->isInPlace && !IsNearlyOver(*user, Now()) && !(waits && user->over > 0);
    };
    const auto& links = operation.shape->links;
    return std::none_of(links.begin(), links.end(), [&](uint32_t link) {
        return std::any_of(m_users[link].begin(), m_users[link].end(), isInTheWay);
    });
}

void
FastForward::OpenInPlace(Operation& operation)
{
    ++m_report.inPlace;
    const bool isAlone = m_running++ == 0;
    m_alone = {isAlone ? &operation : nullptr,
               isAlone ? m_inPlace->GetCarried() : CarriedTraffic()};
    operation.part->isInPlace = true;
    operation.inPlace = m_inPlace->Open(operation.what, [this, &operation](uint32_t rank) {
        OnEndInPlace(operation, rank);
    });
    for (uint32_t rank = 0; rank < operation.CountRanks(); ++rank)
    {
        if (operation.starts[rank] != NO_TIME)
        {
            operation.inPlace->Begin(rank);
        }
    }
}

void
FastForward::OnEndInPlace(Operation& operation, uint32_t rank)
{
    const bool isThrough = !operation.IsRunning();
    m_running -= isThrough;
    if (!operation.isGhost)
    {
        operation.ends[rank] = Now();
        Arm(operation);
    }
    else if (isThrough)
    {
        --m_ghosts;
        ScheduleEnd(operation, 0); // it may have waited for that alone
    }
}

void
FastForward::KeepIfAlone(Operation& operation)
{
    Part& part = *operation.part;
    if (m_alone.operation != &operation || part.operations.size() > 1)
    {
        return;
    }
    const CarriedTraffic carried = m_inPlace->GetCarried();
    if (carried.HasDraws())
    {
        return; // connections are no longer in their first state, or it comes otherwise next time
    }
    PartOutcome outcome{{operation.ends}, carried};
    outcome.traffic -= m_alone.before;
    for (TimePs& end : outcome.ends.front())
    {
        end -= operation.Anchor();
    }
    SortByLikeness(part);
    auto [key, times] = AddressOf(part);
    LearnTimes(part, m_store.Put(key, std::move(times), std::move(outcome))->outcome);
}

void
FastForward::ForeseeAfterAll(Part& part)
{
    part.isInPlace = false;
    for (const auto& operation : part.operations)
    {
        operation->isGhost = true;
        ++m_report.ghosts;
        m_ghosts += operation->IsRunning();
    }
    part.changed = Now();
    Plan(part, Now());
}

void
FastForward::DiscountGhosts(const Part& part)
{
    PartPattern ghosts;
    for (const auto& operation : part.operations)
    {
        if (operation->isGhost)
        {
            ghosts.push_back({&operation->what, operation->starts});
        }
    }
    if (ghosts.empty())
    {
        return;
    }
    const CarriedTraffic twice = m_patterns.Simulate(SinceFirstStart(std::move(ghosts))).traffic;
    m_ghostTraffic += twice;
    m_report.simulatedWork += twice.Work();
    m_report.repeatedWork += 2 * twice.Work();
}

std::string
FastForward::DescribeWait(const Operation& operation, uint32_t rank)
{
    return operation.inPlace && !operation.isGhost
               ? operation.inPlace->DescribeWait(rank)
               : "is fast-forwarded, and waits for its end or for other ranks to begin";
}

} // namespace AstraSim

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
FastForward::MayRunInPlace(const Operation& operation)
{
    // What is left of ghosts on the network is no part of anything.
    return m_inPlace && m_ghosts == 0 &&
           (!HasBegunBefore(operation) || IsToBeSampled(operation) ||
            (operation.what.isMessage && MeetsWhatIsInPlace(operation)));
}

bool
FastForward::HasBegunBefore(const Operation& operation)
{
    const auto known = m_begunRoughly.find(operation.RoughShape());
    if (known == m_begunRoughly.end())
    {
        return false;
    }
    if (const DeferredShape* first = std::exchange(known->second, nullptr))
    {
        m_begun.insert(first->Get().digest);
    }
    return m_begun.contains(operation.Shape().digest);
}

void
FastForward::NoteBegun(const Operation& operation)
{
    const auto [known, isFirst] =
        m_begunRoughly.try_emplace(operation.RoughShape(), operation.deferred);
    if (!isFirst || !operation.deferred)
    {
        m_begun.insert(operation.Shape().digest);
    }
}

void
FastForward::Decide()
{
    const std::vector<Operation*> undecided = std::exchange(m_undecided, {});
    boost::unordered_flat_map<Digest, uint32_t, Digest::Hash> roughly;
    boost::unordered_flat_map<Digest, uint32_t, Digest::Hash> alike;
    for (const Operation* operation : undecided)
    {
        ++roughly[operation->RoughShape()];
    }
    const auto isOneOfSeveral = [&roughly](const Operation& operation) {
        return roughly[operation.RoughShape()] > 1;
    };
    for (const Operation* operation : undecided)
    {
        if (isOneOfSeveral(*operation))
        {
            ++alike[operation->Shape().digest];
        }
    }
    for (Operation* operation : undecided)
    {
        operation->isUndecided = false;
        const bool joins = operation->what.isMessage && MeetsWhatIsInPlace(*operation);
        // Several of a shape at once repeat each other.
        const bool isNew = !HasBegunBefore(*operation) &&
                           (!isOneOfSeveral(*operation) || alike[operation->Shape().digest] == 1);
        NoteBegun(*operation);
        const bool isSampled = IsToBeSampled(*operation);
        if ((isNew || joins || isSampled) && m_ghosts == 0 && MeetsNothingForwarded(*operation))
        {
            m_report.sampled += isSampled;
            OpenInPlace(*operation);
        }
        TakeIn(*operation);
    }
}

bool
FastForward::MeetsWhatIsInPlace(const Operation& operation)
{
    if (m_holding == 0)
    {
        return false;
    }
    EnterLone();
    const auto& links = operation.Shape().links;
    return std::any_of(links.begin(), links.end(), [this](uint32_t link) {
        const auto& users = m_users[link];
        return std::any_of(users.begin(), users.end(), [](const Operation* user) {
            return user->part->isInPlace;
        });
    });
}

bool
FastForward::MeetsNothingForwarded(const Operation& operation)
{
    if (m_holding == 0 || (m_lone && m_lone->part->isInPlace))
    {
        return true;
    }
    EnterLone();
    // A collective counts once all have begun: what ranks have left by now will be over then.
    const bool waits = m_config.tail > 0 && !operation.HasBegun() && NeedsAllRanks(operation.what);
    const auto isInTheWay = [&](const Operation* user) {
        return !user->part->isInPlace && !IsNearlyOver(*user, Now()) && !(waits && user->over > 0);
    };
    const auto& links = operation.Shape().links;
    return std::none_of(links.begin(), links.end(), [&](uint32_t link) {
        return std::any_of(m_users[link].begin(), m_users[link].end(), isInTheWay);
    });
}

void
FastForward::OpenInPlace(Operation& operation)
{
    ++m_report.inPlace;
    if (m_running++ == 0)
    {
        m_alone = {operation.NameOfShape(), m_inPlace->GetCarried()};
    }
    else if (m_alone.shape != operation.NameOfShape())
    {
        m_alone.shape = nullptr;
    }
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
    if (m_alone.shape != operation.NameOfShape() || part.operations.size() > 1)
    {
        m_sampled.erase(operation.NameOfShape());
        return;
    }
    const ns3::CarriedTraffic carried = m_inPlace->GetCarried();
    ns3::CarriedTraffic own = carried;
    own -= m_alone.before;
    const bool isSampled = m_sampled.contains(operation.NameOfShape());
    if (NeedsAllRanks(operation.what) && (isSampled || own.HasDraws()))
    {
        m_alone.before = carried; // the next of its kind may have begun
        Sample(operation, own);
        return;
    }
    if (carried.HasDraws())
    {
        return; // connections are no longer in their first state, or it comes otherwise next time
    }
    part.toKeep = OutcomeOf(operation, own);
    m_toKeep.push_back(&part);
    constexpr std::size_t MOST_RANKS = 1 << 20; // some tens of bytes for each
    m_ranksToKeep += operation.CountRanks();
    if (m_ranksToKeep > MOST_RANKS)
    {
        KeepNow();
    }
}

PartOutcome
FastForward::OutcomeOf(const Operation& operation, const ns3::CarriedTraffic& traffic)
{
    PartOutcome outcome{{operation.ends}, traffic};
    for (TimePs& end : outcome.ends.front())
    {
        end -= operation.Anchor();
    }
    return outcome;
}

void
FastForward::KeepNow()
{
    for (Part* part : std::exchange(m_toKeep, {}))
    {
        PartOutcome outcome = std::move(*part->toKeep);
        part->toKeep.reset();
        SortByLikeness(*part);
        auto [key, times] = AddressOf(*part);
        LearnTimes(*part, m_store.Put(key, std::move(times), std::move(outcome))->outcome);
    }
    m_ranksToKeep = 0;
    m_keptParts.clear();
}

void
FastForward::ForeseeAfterAll(Part& part)
{
    part.isInPlace = false;
    for (const auto& operation : part.operations)
    {
        operation->isGhost = true;
        m_sampled.erase(operation->NameOfShape());
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
    const ns3::CarriedTraffic twice =
        m_patterns.Simulate(SinceFirstStart(std::move(ghosts))).traffic;
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

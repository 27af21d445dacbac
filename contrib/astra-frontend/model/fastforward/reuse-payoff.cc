/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reuse-payoff.h"

#include <algorithm>

namespace AstraSim
{

ReusePayoff::Account&
ReusePayoff::Account::operator+=(const Account& other)
{
    learned += other.learned;
    saved += other.saved;
    again += other.again;
    return *this;
}

void
ReusePayoff::Set(Account& part, uint64_t learned, uint64_t saved)
{
    // The part has a new outcome, so its last one has been simulated or reused in vain.
    m_learned += learned - part.learned;
    m_saved += saved - part.saved;
    part.learned = learned;
    part.saved = saved;
}

void
ReusePayoff::Simulated(Account& part, const Digest& kind, Effort effort, double again)
{
    m_spent += effort.cost;
    part.again += again;
    m_spentAgain += static_cast<uint64_t>(again);
    const bool isNew = m_kinds.insert_or_assign(kind, effort).second;
    Set(part, isNew ? effort.work : 0, 0);
}

void
ReusePayoff::Reused(Account& part, uint64_t work, bool isAgain)
{
    m_savedAgain += isAgain ? work : 0;
    Set(part, 0, work);
}

double
ReusePayoff::WholeOfBegun() const
{
    // The work of small collectives goes by their number, that of large ones by their bytes: a
    // sweep that begins at a few bytes has a billion times its first one's bytes to come, not its
    // work.
    const double byNumber = static_cast<double>(std::max(m_collectives, m_begun)) /
                            static_cast<double>(std::max<uint64_t>(m_begun, 1));
    return m_collectiveBytes > 0
               ? std::min(byNumber, m_collectiveBytes / std::max(m_begunBytes, 1.0))
               : byNumber;
}

bool
ReusePayoff::IsBetterLive(const Account& part, uint64_t work, uint64_t most) const
{
    const uint64_t enough = most > 0 ? std::clamp(most, 2 * work, 16 * work) : 0;
    return part.again >= static_cast<double>(enough) &&
           m_spentAgain >= m_savedAgain + m_patience.work;
}

bool
ReusePayoff::WouldBeInVain(const Account& part,
                           const Digest& kind,
                           uint64_t work,
                           uint64_t overhead) const
{
    if (m_patience.work == 0)
    {
        return false;
    }
    // A part to which something is added has at least the work that it had.
    const auto known = m_kinds.find(kind);
    const bool isNew = known == m_kinds.end();
    const uint64_t before = part.learned + part.saved;
    const uint64_t least = std::max(work, before);
    const Effort effort = isNew ? Effort{least, least + overhead} : known->second;
    // So far the run has m_learned and m_saved of work. Everything else that was spent is in vain,
    // and m_saved makes up for it.
    const auto useful =
        static_cast<double>(m_learned + m_saved - before + (isNew ? effort.work : 0));
    const auto spent = static_cast<double>(m_spent + effort.cost);
    const double margin =
        static_cast<double>(m_patience.work) + m_patience.share * useful * WholeOfBegun();
    return spent - useful > margin;
}

} // namespace AstraSim

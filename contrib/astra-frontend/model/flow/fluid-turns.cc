/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fluid-turns.h"

#include <cmath>
#include <limits>
#include <utility>

// All is counted in bytes of the link. The round is kept as it was at the last Plan(): turns in the
// order of their next frames, each with the bytes that it has not begun, and the rest of the frame
// in service, whose turn is the last one already. The last frame of a transfer with f frames leaves
// when every other turn has sent f frames, or f - 1 if it comes later in the round, or all that it
// has (FindEnd). Bundles move at one n-th of the link's rate, so SetEnds() divides what is left of
// these bytes by the n of now.

namespace AstraSim
{

namespace
{

/// Bytes below which a remainder is a rounding error, since times are whole picoseconds.
constexpr double FRAME_ROUNDING = 1e-3;

/// Rates are equal if the lower one is at least this part of the higher; the solver tolerates as
/// much.
constexpr double EVEN = 0.99;

double
LeftBytes(const FluidTransfer& transfer)
{
    return std::max(transfer.end - transfer.bundle->moved, 0.0);
}

} // namespace

bool
FluidTurns::Join(FluidTransfer& transfer, bool keepsTurn, bool endsHere)
{
    if (transfer.frameBytes == 0)
    {
        ++m_others;
        return false;
    }
    if (keepsTurn && m_kept < m_known && !m_round[m_kept].transfer)
    {
        m_round[m_kept].heir = &transfer;
    }
    m_round.push_back({&transfer, transfer.frameBytes, endsHere});
    ++m_live;
    return !std::exchange(m_isChanged, true);
}

bool
FluidTurns::Leave(FluidTransfer& transfer)
{
    if (transfer.frameBytes == 0)
    {
        --m_others;
        return false;
    }
    --m_live;
    const auto at = std::ranges::find(m_round, &transfer, &Turn::transfer);
    const auto place = static_cast<std::size_t>(at - m_round.begin());
    if (place < m_known)
    {
        m_sentByGone += std::min(transfer.end, transfer.bundle->moved) - at->moved;
        m_served = m_served == &transfer ? nullptr : m_served;
        at->transfer = nullptr;
        m_kept = place;
    }
    else
    {
        m_round.erase(at);
        for (Turn& turn : m_round)
        {
            turn.heir = turn.heir == &transfer ? nullptr : turn.heir;
        }
    }
    return !std::exchange(m_isChanged, true);
}

double
FluidTurns::FindLeft(const FluidTransfer& transfer) const
{
    const auto at = std::ranges::find(m_round, &transfer, &Turn::transfer);
    const bool isKnown = static_cast<std::size_t>(at - m_round.begin()) < m_known;
    if (!m_takesTurns || transfer.frameBytes == 0 || !isKnown)
    {
        return LeftBytes(transfer);
    }
    FluidTurns now(*this);
    const std::optional<double> sent = FindSent();
    now.Send(m_sent + sent.value_or(0));
    const auto turn = std::ranges::find(now.m_round, &transfer, &Turn::transfer);
    const double left = turn->unsent + (now.m_served == &transfer ? now.m_wait : 0);
    return sent ? left : std::max(left - (transfer.bundle->moved - turn->moved), 0.0);
}

double
FluidTurns::FramesIn(const Turn& turn)
{
    return std::max(std::ceil(turn.unsent / turn.frame - FRAME_ROUNDING), 1.0);
}

bool
FluidTurns::HasLeft(const Turn& turn)
{
    return !turn.transfer;
}

bool
FluidTurns::IsEven() const
{
    double slowest = std::numeric_limits<double>::infinity();
    double fastest = 0;
    double shortest = std::numeric_limits<double>::infinity();
    double longest = 0;
    ForEach([&](const FluidTransfer& each) {
        slowest = std::min(slowest, each.bundle->rate);
        fastest = std::max(fastest, each.bundle->rate);
        shortest = std::min(shortest, each.frameBytes);
        longest = std::max(longest, each.frameBytes);
    });
    return shortest == longest && slowest >= EVEN * fastest;
}

std::optional<double>
FluidTurns::FindSent() const
{
    double sent = m_sentByGone;
    double least = std::numeric_limits<double>::infinity();
    double most = 0;
    for (std::size_t place = 0; place < m_known; ++place)
    {
        const Turn& turn = m_round[place];
        if (turn.transfer)
        {
            const double moved = turn.transfer->bundle->moved - turn.moved;
            sent += moved;
            least = std::min(least, moved);
            most = std::max(most, moved);
        }
    }
    return least >= EVEN * most ? std::optional(sent) : std::nullopt;
}

void
FluidTurns::Send(double bytes)
{
    const double rounding = FRAME_ROUNDING * m_round.front().frame;
    std::size_t place = 0;
    std::size_t frames = 0;
    bool isBusy = true;
    for (; isBusy && bytes >= m_wait - rounding; ++frames)
    {
        bytes = std::max(bytes - m_wait, 0.0);
        m_wait = 0;
        if (frames % m_known == 0)
        {
            bytes = SendRounds(bytes);
        }
        isBusy = BeginFrame(place);
    }
    m_wait = std::max(m_wait - bytes, 0.0);
    if (frames > 0)
    {
        Rotate(place);
    }
}

double
FluidTurns::SendRounds(double bytes)
{
    double count = 0;
    double fewest = std::numeric_limits<double>::infinity();
    double frame = 0;
    for (std::size_t place = 0; place < m_known; ++place)
    {
        const Turn& turn = m_round[place];
        if (turn.unsent > 0)
        {
            ++count;
            frame = turn.frame;
            fewest = std::min(fewest, FramesIn(turn));
        }
    }
    // A last frame may be a shorter one.
    const double rounds = count > 0 ? std::min(std::floor(bytes / (count * frame)), fewest - 1) : 0;
    for (std::size_t place = 0; place < m_known && rounds > 0; ++place)
    {
        Turn& turn = m_round[place];
        turn.unsent -= turn.unsent > 0 ? rounds * frame : 0;
    }
    return bytes - rounds * count * frame;
}

bool
FluidTurns::BeginFrame(std::size_t& place)
{
    for (std::size_t i = 0; i < m_known; ++i)
    {
        Turn& turn = m_round[place];
        place = (place + 1) % m_known;
        if (turn.unsent > 0)
        {
            m_wait = FramesIn(turn) > 1 ? turn.frame : turn.unsent;
            turn.unsent -= m_wait;
            return true;
        }
    }
    return false;
}

void
FluidTurns::Rotate(std::size_t place)
{
    const auto begin = m_round.begin();
    std::rotate(begin,
                begin + static_cast<std::ptrdiff_t>(place),
                begin + static_cast<std::ptrdiff_t>(m_known));
    m_served = m_wait > 0 ? m_round[m_known - 1].transfer : nullptr;
}

void
FluidTurns::Exchange(bool tookTurns)
{
    for (std::size_t place = 0; place < m_known && !tookTurns; ++place)
    {
        Turn& turn = m_round[place];
        turn.unsent = turn.transfer ? LeftBytes(*turn.transfer) : 0;
    }
    for (std::size_t place = m_known; place < m_round.size(); ++place)
    {
        Turn& newcomer = m_round[place];
        newcomer.unsent = LeftBytes(*newcomer.transfer);
        const auto kept = std::ranges::find(m_round, newcomer.transfer, &Turn::heir);
        if (kept != m_round.end())
        {
            *kept = newcomer;
            newcomer.transfer = nullptr;
        }
    }
    const auto known = m_round.begin() + static_cast<std::ptrdiff_t>(m_known);
    m_known -= static_cast<std::size_t>(std::count_if(m_round.begin(), known, HasLeft));
    m_wait = m_served ? m_wait : 0;
    std::erase_if(m_round, HasLeft);
}

double
FluidTurns::FindEnd(std::size_t place) const
{
    const Turn& turn = m_round[place];
    if (turn.unsent <= 0)
    {
        return turn.transfer == m_served ? m_wait : 0;
    }
    const double frames = FramesIn(turn);
    double bytes = m_wait;
    for (std::size_t other = 0; other < m_round.size(); ++other)
    {
        const double before = other <= place ? frames : frames - 1;
        bytes += std::min(m_round[other].unsent, before * turn.frame);
    }
    return bytes;
}

void
FluidTurns::Plan()
{
    if (m_wait == 0)
    {
        // The first newcomer finds an idle link, and is in service when the others join.
        std::size_t place = 0;
        m_known = std::max<std::size_t>(m_known, 1);
        BeginFrame(place);
        Rotate(place);
    }
    for (std::size_t place = 0; place < m_round.size(); ++place)
    {
        m_round[place].end = FindEnd(place);
    }
}

bool
FluidTurns::SetEnds(double nowPs)
{
    bool isChanged = false;
    for (Turn& turn : m_round)
    {
        if (HasLeft(turn))
        {
            continue;
        }
        FluidTransfer& transfer = *turn.transfer;
        const FluidBundle& bundle = *transfer.bundle;
        // Another link of its path may be slower than this one.
        const double alone = bundle.rate * (static_cast<double>(transfer.soonestPs) - nowPs);
        const double share = (turn.end - m_sent) / static_cast<double>(m_live);
        const double end = bundle.moved + std::max({share, alone, 0.0});
        if (turn.endsHere && std::abs(end - transfer.end) > FRAME_ROUNDING)
        {
            transfer.end = end;
            isChanged = true;
        }
        turn.moved = bundle.moved;
    }
    return isChanged;
}

void
FluidTurns::EndAsFluids(double nowPs, bool fromNowOn)
{
    for (std::size_t place = 0; place < m_known; ++place)
    {
        Turn& turn = m_round[place];
        if (turn.transfer)
        {
            FluidTransfer& transfer = *turn.transfer;
            const double moved = fromNowOn ? transfer.bundle->moved : turn.moved;
            turn.unsent += turn.transfer == m_served ? m_wait : 0;
            // The bytes that this link has sent wait where a slower link follows.
            const double behind =
                transfer.idleRate * (static_cast<double>(transfer.soonestPs) - nowPs);
            transfer.end = turn.endsHere
                               ? std::max(moved + turn.unsent, transfer.bundle->moved + behind)
                               : transfer.end;
        }
    }
    m_served = nullptr;
    m_wait = 0;
}

bool
FluidTurns::Renew(double nowPs, bool isFull)
{
    const std::optional<double> sent = m_takesTurns ? FindSent() : std::nullopt;
    const bool tookTurns = std::exchange(m_takesTurns, isFull && m_others == 0 && IsEven());
    m_sent += sent.value_or(0);
    m_sentByGone = 0;
    m_isChanged = false;
    if (sent && m_takesTurns && m_known == m_round.size())
    {
        return SetEnds(nowPs);
    }
    bool isChanged = false;
    if (tookTurns)
    {
        Send(std::exchange(m_sent, 0));
        // Where others' links have held some of them back, they are fluids since the last time.
        isChanged = !sent || !m_takesTurns;
    }
    if (isChanged)
    {
        EndAsFluids(nowPs, sent.has_value());
    }
    Exchange(sent.has_value());
    if (m_takesTurns)
    {
        Plan();
        isChanged |= SetEnds(nowPs);
    }
    m_known = m_round.size();
    return isChanged;
}

} // namespace AstraSim

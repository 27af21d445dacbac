/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLUID_TURNS_H
#define FLUID_TURNS_H

#include "fluid-transfer.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief The turns that transfers take at the link where they begin, a frame in each.
 *
 * A NIC serves its queue pairs round robin: a queue pair goes to the end of the round as its frame
 * begins, a new one joins the round at its end, and a frame that has begun is not interrupted. So
 * the frame in service, the round, and the bytes that each transfer has not begun to send give the
 * time of each last frame, until somebody comes or goes. Renew() has transfers end at these times.
 *
 * Nothing is counted frame by frame. A transfer that ends leaves the times of the others as they
 * are. When one comes, Renew() has the round send the bytes that the link has sent since the last
 * one came, whole rounds at once, then frames, and finds the times anew.
 *
 * Transfers take turns where they share a full link evenly and have frames of one size. Elsewhere
 * they end as fluids do.
 */
class FluidTurns
{
  public:
    /**
     * A transfer begins, last in the round.
     * @param keepsTurn it is the next of the queue pair that has just sent its last frame
     * @param endsHere it ends as its turns here do, not as those at another link where it starts,
     * too
     * @return whether this is the first change since Renew()
     */
    bool Join(FluidTransfer& transfer, bool keepsTurn, bool endsHere = true);

    /// @return whether the round has a place for one more
    bool HasPlace() const
    {
        return m_live < MAX_TURNS;
    }

    /// A transfer is through, or goes elsewhere. Its bundle's bytes are those of now.
    /// @return whether this is the first change since Renew()
    bool Leave(FluidTransfer& transfer);

    /// @return transfers that share the link; of very many those that began first
    std::size_t Count() const
    {
        return std::min(m_live + m_others, MAX_TURNS);
    }

    /// @return whether transfers end when their last frames leave, as of the last Renew(); else
    /// they are fluids
    bool TakesTurns() const
    {
        return m_takesTurns;
    }

    /// Call it while the counters of all bundles are up to date. @return bytes that a transfer has
    /// not sent
    double FindLeft(const FluidTransfer& transfer) const;

    /// Call f(transfer) for each that takes turns.
    template <typename Function>
    void ForEach(Function f) const
    {
        for (const Turn& turn : m_round)
        {
            if (turn.transfer)
            {
                f(*turn.transfer);
            }
        }
    }

    /**
     * Transfers have come or gone. Work out when the others end. Their bundles' bytes are those of
     * now, and their rates those from now on.
     * @param nowPs the time
     * @param isFull whether they use all of the link
     * @return whether ends have changed
     */
    bool Renew(double nowPs, bool isFull);

  private:
    /// Most queue pairs in a round: each beginning looks at all others, which takes the square of
    /// their number.
    static constexpr std::size_t MAX_TURNS = 256;

    /// A queue pair in the round.
    struct Turn
    {
        FluidTransfer* transfer; ///< null: it has left since Plan()
        double frame;            ///< bytes of a full frame
        bool endsHere;           ///< the round says when the transfer ends
        double unsent{0};        ///< bytes of frames that have not begun, as of Plan()
        double end{0};           ///< bytes of all pairs that the link sends from Plan() until the
                                 ///< end of this pair's last frame
        double moved{0};         ///< bytes that its bundle had moved at Renew()
        FluidTransfer* heir{nullptr}; ///< the next of its queue pair
    };

    static double FramesIn(const Turn& turn);
    static bool HasLeft(const Turn& turn);
    bool IsEven() const;
    /// @return bytes that the link has sent since Renew(); none if transfers have not had even
    /// shares
    std::optional<double> FindSent() const;
    /// The link has sent so many bytes since Plan().
    void Send(double bytes);
    /// Take the whole rounds among the bytes that the link has sent off all turns.
    /// @return bytes that remain
    double SendRounds(double bytes);
    /// The next frame of the round from a place on begins.
    /// @return whether there is one; the place after it
    bool BeginFrame(std::size_t& place);
    /// Rotate the round so that it begins at this place.
    void Rotate(std::size_t place);
    /// Remove the turns that have left; newcomers join, an heir at its predecessor's place.
    /// @param tookTurns whether Turn::unsent is up to date; otherwise it is found anew
    void Exchange(bool tookTurns);
    /// @return bytes that the link sends until a turn's last frame has left
    double FindEnd(std::size_t place) const;
    void Plan();
    /// Work out FluidTransfer::end, in bytes of its bundle, from Turn::end, in bytes of the link.
    /// @return whether ends have changed
    bool SetEnds(double nowPs);
    /// End the turns: their transfers move evenly from now on, or else since Renew().
    void EndAsFluids(double nowPs, bool fromNowOn);

    std::vector<Turn> m_round;        ///< the next first; then newcomers
    std::size_t m_known{0};           ///< turns before the newcomers
    std::size_t m_live{0};            ///< turns that have not left
    std::size_t m_kept{0};            ///< the turn that left last
    std::size_t m_others{0};          ///< transfers that take no turns
    FluidTransfer* m_served{nullptr}; ///< its frame is in service
    double m_wait{0};                 ///< bytes until that frame has left, as of Plan()
    double m_sent{0};                 ///< bytes that the link has sent from Plan() to Renew()
    double m_sentByGone{0};           ///< bytes since Renew() of those that have left
    bool m_takesTurns{false};         ///< as of the last Renew(); else they are fluids
    bool m_isChanged{false};          ///< a transfer has come or gone since then
};

} // namespace AstraSim

#endif /* FLUID_TURNS_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLUID_CHECK_H
#define FLUID_CHECK_H

#include "fluid-transfers.h"
#include "fluid-watch.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Checks invariants of transfers over shared links.
 *
 * Keeps books of its own:
 * - Each link has carried the bytes of the transfers over it, no more and no fewer.
 * - No link's rates are more than its capacity, which is 0 while it is cut; no transfer is faster
 *   than its limit. A transfer has a rate unless one of its links is cut, and it is held back by
 *   its limit or by a link that is full.
 * - No transfer is through earlier than it would be alone, nor goes on when all is done.
 *
 * @code
 * FluidCheck check(loop, transfers, report, [](uint32_t link) { return std::to_string(link); });
 * loop.Run();
 * check.Finish(true);
 * @endcode
 */
class FluidCheck : public FluidWatch
{
  public:
    /// Receives violations, with the time.
    using Report = std::function<void(const std::string& what)>;
    /// @return the name of a link
    using NameOf = std::function<std::string(uint32_t link)>;

    /// @param loop,transfers outlive the object; nothing has begun
    FluidCheck(const EventLoop& loop, FluidTransfers& transfers, Report report, NameOf nameOf);
    ~FluidCheck() override;

    FluidCheck(const FluidCheck&) = delete;
    FluidCheck& operator=(const FluidCheck&) = delete;

    void Started(const FluidTransfer& transfer,
                 std::span<const MaxMinSolver::Use> uses,
                 double bytes) override;
    void Moved(const FluidTransfer& transfer,
               std::span<const MaxMinSolver::Use> uses,
               double left) override;
    void Ended(const FluidTransfer& transfer) override;
    void RatesChanged() override;

    /// The simulation is over. @param drained whether nothing was left to simulate
    void Finish(bool drained);

  private:
    /// A transfer under way.
    struct Entry
    {
        double left;    ///< bytes when it began or moved
        double alonePs; ///< time that it takes at least; 0 if it has moved
    };

    void Book(std::span<const MaxMinSolver::Use> uses, double bytes);
    void CheckRates();
    void Fail(const std::string& what) const;

    const EventLoop& m_loop;
    FluidTransfers& m_transfers;
    Report m_report;
    NameOf m_nameOf;
    std::vector<double> m_capacity; ///< by link, while it is not cut
    std::vector<double> m_demand;   ///< by link, bytes of the transfers so far
    std::vector<double> m_load;     ///< by link, while rates are looked at
    boost::unordered_flat_map<const FluidTransfer*, Entry> m_underWay;
    uint64_t m_changes{0}; ///< since rates were last looked at
};

} // namespace AstraSim

#endif /* FLUID_CHECK_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVE_LOG_H
#define COLLECTIVE_LOG_H

#include "astra-frontend/model/system/run-observer.h"

#include <string_view>

namespace AstraSim
{

/// Prints a line to standard error when a collective starts and one when it ends (AS_LOG_LEVEL
/// DEBUG).
class CollectiveLog : public RunObserver
{
  public:
    void CollectiveStarted(const CollectiveRecord& record) override;
    void CollectiveEnded(const CollectiveRecord& record) override;

  private:
    static void Print(const CollectiveRecord& record, TimePs time, std::string_view what);
};

} // namespace AstraSim

#endif /* COLLECTIVE_LOG_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NATIVE_SCHEDULE_FACTORY_H
#define NATIVE_SCHEDULE_FACTORY_H

#include "native-algorithm.h"
#include "native-schedule.h"

#include <cstdint>
#include <memory>

namespace AstraSim
{

/**
 * @param algorithm Ring, HalvingDoubling, DoubleBinaryTree or Direct
 * @return the schedule of @p request on a group of @p ranks
 * @throw ns3::InputError if the algorithm cannot carry it out
 */
std::unique_ptr<NativeSchedule> MakeNativeSchedule(const NativeAlgorithm& algorithm,
                                                   uint32_t ranks,
                                                   const CollectiveRequest& request);

} // namespace AstraSim

#endif /* NATIVE_SCHEDULE_FACTORY_H */

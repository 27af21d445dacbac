/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SERVING_CHECKS_H
#define SERVING_CHECKS_H

#include "serving-config.h"

namespace AstraSim
{

/// @throw ns3::InputError unless the instances can serve requests together
void CheckServingPools(const ServingConfig& config);

/// @throw ns3::InputError if a request's cache is larger than that of an instance
void CheckServingRequests(const ServingConfig& config);

} // namespace AstraSim

#endif /* SERVING_CHECKS_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SERVING_CHECKS_H
#define SERVING_CHECKS_H

#include "serving-config.h"

#include <string>

namespace AstraSim
{

/// @throw ns3::InputError unless the instances can serve requests together
void CheckServingPools(const ServingConfig& config);

/// Number the requests, and move those that fit in no instance's memory to the refused ones, as
/// servers do. @throw ns3::InputError if none is left
void RefuseLongRequests(ServingConfig& config);

/// @param file name of the trace @return a line that counts the requests it leaves out, or nothing
std::string DescribeLeftOut(const RequestTrace& trace, const std::string& file);

} // namespace AstraSim

#endif /* SERVING_CHECKS_H */

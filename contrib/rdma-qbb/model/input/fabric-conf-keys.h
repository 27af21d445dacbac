/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_CONF_KEYS_H
#define FABRIC_CONF_KEYS_H

#include "fabric-conf-format.h"

#include <vector>

namespace ns3::conf_format
{

/**
 * @param conf receives the values that rows take; outlives them
 * @param use of it, for the reasons why keys are idle
 * @return the rows of all keys, in the order of the documentation
 */
std::vector<KeyRow> KeyRows(FabricConf& conf, const ConfUse& use = {});

} // namespace ns3::conf_format

#endif /* FABRIC_CONF_KEYS_H */

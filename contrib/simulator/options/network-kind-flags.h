/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NETWORK_KIND_FLAGS_H
#define NETWORK_KIND_FLAGS_H

#include "collectives/model/nccl/nccl-options.h"
#include "programs/frame/program-flags.h"

#include <string>

namespace AstraSim
{

/**
 * @ingroup simulator
 * @brief The flags --network-kind and --network-table, which are taken together.
 */
struct NetworkKindFlags
{
    std::string kind;
    std::string table;

    void AddTo(ProgramFlags& flags);

    /// @throw ns3::InputError for an unknown kind, a wrong table, or a table of which no kind is
    /// taken
    void Take(NcclOptions& options) const;
};

} // namespace AstraSim

#endif /* NETWORK_KIND_FLAGS_H */

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "network-kind-flags.h"

#include "collectives/model/nccl/network-table.h"

namespace AstraSim
{

void
NetworkKindFlags::AddTo(ProgramFlags& flags)
{
    flags.Add(FlagSubject::Model,
              "network-kind NAME",
              kind,
              "kind of network between the servers: " + NetworkTable::GetBuiltInNames() +
                  " (default: AS_NETWORK_KIND, or none)");
    flags.Add(FlagSubject::Traffic,
              "network-table FILE",
              table,
              "further kinds of networks for --network-kind (YAML)");
}

void
NetworkKindFlags::Take(NcclOptions& options) const
{
    if (!table.empty() && kind.empty())
    {
        RefuseFlag("--network-table " + table, "--network-kind with the name of a row");
    }
    if (kind.empty())
    {
        return;
    }
    if (!table.empty())
    {
        options.networkTable = table;
    }
    options.SetNetworkKind(kind, "command line", "--network-kind");
}

} // namespace AstraSim

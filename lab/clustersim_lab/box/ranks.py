# SPDX-License-Identifier: GPL-2.0-only
"""Starts SimAI_phynet by mpirun on a cluster of namespaces."""
import os
import tempfile
from collections.abc import Mapping

from clustersim.physical.launch import TCP_VARIABLES, environment, phynet_words, require_success
from clustersim_lab.box.namespaces import NamespaceCluster


def run(cluster: NamespaceCluster, ranks: int, workload: str | os.PathLike, topology: str | os.PathLike,
        output: str | os.PathLike, variables: Mapping[str, str] | None = None, timeout: float = 600,
        **flags: object) -> None:
    """Runs one rank on each of the first hosts of a NamespaceCluster, over tcp. @raise PhysicalError"""
    with tempfile.TemporaryDirectory(prefix="csim-") as directory:
        hosts = cluster.topology.gpus[:ranks]
        words = ["mpirun", "--bind-to", "none", "--mca", "plm", "rsh", "--mca", "plm_rsh_agent",
                 str(cluster.agent(directory)),
                 "--mca", "plm_rsh_no_tree_spawn", "1", "--mca", "orte_tmpdir_base", directory,
                 "--mca", "btl", "tcp,self", "--mca", "oob", "tcp",
                 "--host", ",".join(f"h{host}:1" for host in hosts), "-np", str(ranks),
                 *(word for name in (*(variables or {}), *TCP_VARIABLES) for word in ("-x", name)),
                 *phynet_words(workload, topology, output, provider="tcp", **flags)]
        first = ["unshare", "--uts", "sh", "-c", 'hostname launcher; exec "$@"', "sh", *words]
        result = cluster.execute(hosts[0], first, env=environment(variables), capture_output=True, timeout=timeout)
        require_success(result, words)

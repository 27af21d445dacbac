# SPDX-License-Identifier: GPL-2.0-only
"""A Slurm of one node in a directory of its own: its daemons run here and end with the test."""
import contextlib
import os
import shutil
import socket
import subprocess
import time

from waiting import HANGS

CONF = """ClusterName=box
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd.pid
SlurmctldLogFile={place}/slurmctld.log
SlurmdLogFile={place}/slurmd.log
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmdParameters=config_overrides
MinJobAge=300
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 RealMemory=8000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES State=UP
"""


def is_possible():
    """@return whether Slurm is installed (Debian: slurm-wlm) and may be started"""
    return os.geteuid() == 0 and all(map(shutil.which, ("slurmctld", "slurmd", "srun", "sbatch")))


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def is_idle(variables):
    state = subprocess.run(["sinfo", "-h", "-o", "%T"], env=variables, capture_output=True, text=True, check=False)
    return state.stdout.strip() == "idle"


@contextlib.contextmanager
def running(place):
    """Starts the cluster. @return the environment in which srun and sbatch reach it"""
    for name in ("state", "spool"):
        (place / name).mkdir(parents=True)
    conf = place / "slurm.conf"
    conf.write_text(CONF.format(host=socket.gethostname().partition(".")[0], place=place, controller=free_port(),
                                daemon=free_port()))
    variables = os.environ | {"SLURM_CONF": str(conf)}
    daemons = [subprocess.Popen([program, "-D"], env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
               for program in ("slurmctld", "slurmd")]
    try:
        deadline = time.monotonic() + HANGS
        while not is_idle(variables):
            assert time.monotonic() < deadline, (place / "slurmctld.log").read_text()
            time.sleep(0.2)
        yield variables
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.wait(timeout=HANGS)

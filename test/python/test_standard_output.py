# SPDX-License-Identifier: GPL-2.0-only
"""Standard output that cannot be written: every program ends with one line and a status that is not 0."""
import os
import pathlib
import subprocess

import pytest
from waiting import HANGS

PROGRAMS = pathlib.Path(os.environ["PROGRAM_DIR"])
STAR = "5 1 4\n4\n" + "".join(f"{host} 4 100Gbps 1us 0\n" for host in range(4))
# Words with which each program prints something by itself.
RUNS = {
    "SimAI_simulator": "-w w -n n -c c --tp 1 -o out --network flow",
    "SimAI_analytical": "-w w -n n --tp 1 -r_f out",
    "SimCCL": "--op AllReduce --size 4M --nNodes 2 --gpus_per_node 8 --gpu_type H100 -o out",
    "qbb-flows": "-c c -n n -f f -o out",
    "collective-perf": "all_reduce_perf -b 64K -e 64K --network-topo n --network flow",
}
QUESTIONS = ["--help", "--version"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "w").write_text("1 ALLTOALL 100000 DP\n")
    (tmp_path / "n").write_text(STAR)
    (tmp_path / "c").write_text("CC_MODE 0\nPACKET_PAYLOAD_SIZE 1000\n")
    (tmp_path / "f").write_text("1\n0 1 3 100 1000 0\n")
    return tmp_path


def refused(name, status, errors, reason):
    [line] = [line for line in errors.splitlines() if "warning: " not in line]
    reasons = (reason, "Input/output error")  # the latter where an earlier write had lost some of it
    assert status == 2 and line in [f"standard output: cannot be written: {each}; expected a file or a pipe that "
                                    f"takes all of it"
                                    for each in reasons], (name, line)


def words_of(program, question):
    if not (PROGRAMS / program).exists():
        pytest.skip(f"{program} is not built here")
    return [PROGRAMS / program, *(question or RUNS[program]).split()]


@pytest.mark.parametrize("program, question", [*((program, question) for program in [*RUNS, "SimAI_phynet"]
                                                 for question in QUESTIONS),
                                               *((program, None) for program in RUNS)])
def test_programs_tell_that_a_full_disk_lost_their_output(folder, program, question):
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run(words_of(program, question), cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True,
                              timeout=HANGS)
    refused(program, done.returncode, done.stderr, "No space left on device")


@pytest.mark.parametrize("program, question", [*((program, "--version") for program in [*RUNS, "SimAI_phynet"]),
                                               *((program, None) for program in RUNS)])
def test_programs_whose_output_is_closed_write_it_into_no_file(folder, program, question):
    """The first file that is opened would become standard output."""
    words = words_of(program, question)
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *words], cwd=folder, stderr=subprocess.PIPE, text=True,
                          timeout=HANGS)
    refused(program, done.returncode, done.stderr, "Bad file descriptor")
    quiet = subprocess.run(["sh", "-c", '"$@" >out.txt', "sh", *words], cwd=folder, stderr=subprocess.PIPE, text=True,
                           timeout=HANGS)
    assert quiet.returncode == 0, quiet.stderr
    said = set((folder / "out.txt").read_text().splitlines())
    for path in folder.rglob("out/*"):
        assert not said & set(path.read_bytes().decode().splitlines()) or path.suffix == ".csv", path


@pytest.mark.parametrize("program", [*RUNS, "SimAI_phynet"])
@pytest.mark.parametrize("ignored", [False, True])
def test_a_pipe_that_nobody_reads_ends_a_program_with_141(folder, program, ignored):
    words = [str(word) for word in words_of(program, "--help")]
    reader, writer = os.pipe()
    os.close(reader)
    trap = "trap '' PIPE" if ignored else "trap - PIPE"  # programs of a shell that ignores the signal ignore it, too
    done = subprocess.run(["bash", "-c", f'{trap}; "$@"; exit $?', "bash", *words], stdout=writer,
                          stderr=subprocess.PIPE, text=True,
                          timeout=HANGS)
    os.close(writer)
    assert done.returncode == 141 and not done.stderr, done.stderr


def test_a_run_whose_output_is_lost_keeps_its_results(folder):
    with open("/dev/full", "w", encoding="ascii") as full:
        subprocess.run(words_of("SimAI_simulator", None), cwd=folder, stdout=full, stderr=subprocess.PIPE,
                       timeout=HANGS)
    assert '"status": "finished"' in (folder / "out/run.json").read_text()

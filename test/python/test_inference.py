# SPDX-License-Identifier: GPL-2.0-only
"""INFERENCE workloads from outside: the generator, the simulator on every network, and what is made of the results."""
import csv
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
from script_process import run_script

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("PROGRAM_DIR", ROOT / "bin"))
sys.path.insert(0, str(ROOT / "python"))

from clustersim.errors import InputError  # noqa: E402
from clustersim.results import open_run, open_runs  # noqa: E402
from clustersim.results.plots import KINDS  # noqa: E402
from clustersim.results.tables import all_tables  # noqa: E402
from clustersim.workload.command import inference_command  # noqa: E402
from clustersim.workload.kernels import gpus  # noqa: E402
from clustersim.workload.model import catalogue, operators  # noqa: E402
from clustersim.workload.plan import precision  # noqa: E402
from clustersim.workload.plan.parallel import Parallelism  # noqa: E402
from clustersim.workload.serve.instance import Instance  # noqa: E402

ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith(("AS_", "NCCL_"))}
LINEAR = "row step all linear {} 0 0 0 NONE 0\n"


def simulate(place, workload, *arguments, network="flow", topology=None, status=0):
    """@return the run's directory (status 0), or what it says"""
    if topology is None:
        topology = place / "star"
        topology.write_text("5 1 4\n4\n" + "".join(f"{host} 4 100Gbps 1us 0\n" for host in range(4)))
    (place / "serve.txt").write_text(workload)
    command = [PROGRAMS / "SimAI_simulator", "-w", place / "serve.txt", "-n", topology, "-c", ROOT / "conf/SimAI.conf",
               "--network", network, "-o", place / "run", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == status, done.stderr
    return done.stderr if status else place / "run"


def generate(place, *arguments, status=0):
    """Writes w.txt; without an engine where none is named, so that steps take the time of their rooflines."""
    if "--engine" not in arguments:
        arguments = (*arguments, "--engine", "none")
    done = run_script([ROOT / "scripts/workload.py", "--inference", "-o", place, "--name", "w",
                       *map(str, arguments)])
    assert done.returncode == status, done.stderr
    return done.stderr if status else (place / "w.txt").read_text()


def rows(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def one_request(prompt, output):
    return f"INFERENCE\nrequests 1\nrate 1e15\nprompt_tokens {prompt}\noutput_tokens {output}\n"


def test_the_prefill_of_a_gpu_is_the_roofline_of_its_operators(tmp_path):
    tokens = 512
    generate(tmp_path, "--model_name", "llama3_8b", "--num_layers", 4, "--world_size", 1, "--gpu_type", "A100",
             "--requests", 1, "--rate", 1e6, "--prompt_tokens", tokens, "--output_tokens", 1)
    star = tmp_path / "pair"
    star.write_text("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")
    run = simulate(tmp_path, (tmp_path / "w.txt").read_text(), topology=star, network="analytical")
    model = catalogue.find("llama3_8b").copy(update={"layers": 4})
    gpu = gpus.find("A100", kernels="roofline")
    plan = Parallelism(world_size=1, sequence=tokens)

    def time(operator):
        if operator.kind == "attention":  # causal, with the diagonal
            scores = tokens * (tokens + 1) / 2
            return 2 * scores * (model.attention.query_width(model)
                                 + model.attention.value_width(model)) / (gpu.tflops * 1e3 * gpu.attention[0])
        return gpu.times_ns(operator)[0]

    norm, logits, _ = operators.head(model, Parallelism(world_size=1, sequence=1))
    expected = sum(map(time, [*operators.layer(model, plan, 0)] * 4 + operators.embedding(model, plan)
                       + [norm, logits]))
    assert float(rows(run / "requests.csv")[0]["prefill_us"]) == pytest.approx(expected / 1e3, rel=1e-6)


def test_cache_and_weights_follow_from_the_model():
    llama = catalogue.find("llama3_8b")
    assert Instance(llama, 1).kept.tokens[0] == 2 * 8 * 128 * 2  # keys and values of 8 heads of 128, bfloat16
    assert Instance(llama, 16, tp=16).kept.tokens[0] == 2 * 128 * 2  # a copy of one head
    deepseek = catalogue.find("deepseek_v3")
    assert Instance(deepseek, 8, tp=8).kept.tokens[0] == (512 + 64) * 2  # the latent, on every rank
    products = [row for row in Instance(llama, 1).rows() if row.kind == "matmul"]
    weights = sum(row.figures[0] * row.figures[1] * row.figures[2] * (32 if row.layers == "all" else 1)
                  for row in products)
    norms = (2 * 32 + 1) * 4096
    assert weights + 128256 * 4096 + norms == llama.parameters()  # and the embedding, which is no product


@pytest.mark.parametrize("tp, ep", [(1, 1), (2, 1), (1, 4), (2, 4)])
def test_experts_are_shared_out(tp, ep):
    mixtral = catalogue.find("mixtral_8x7b")
    found = {row.name: row for row in Instance(mixtral, tp * ep, tp=tp, ep=ep).rows()}
    assert found["expert_up"].figures == (2 * 14336 / tp, 4096, 8 / ep, 2 / ep)
    assert found["dispatch"].collective == ("ALLTOALL_EP" if ep > 1 else "NONE")
    assert found["dispatch"].bytes == (2 * 2 * 4096 / tp if ep > 1 else 0)
    assert ("gather" in found) == (tp > 1 and ep > 1)


def test_steps_add_the_collectives_that_a_benchmark_measures(tmp_path):
    """Prefill and decode of TP 4 take their computation and an AllReduce, as long as that alone."""
    run = simulate(tmp_path, one_request(100, 2) + "instances colocated 0-3 tp: 4\n"
                   "row mlp all linear 1000 0 0 0 ALLREDUCE_TP 8192\n", network="packet")
    request = rows(run / "requests.csv")[0]
    for tokens, column in ((100, "prefill_us"), (1, "decode_us")):
        (tmp_path / "alone.txt").write_text(f"1 ALLREDUCE {tokens * 8192} TP\n")
        subprocess.run([PROGRAMS / "SimAI_simulator", "-w", tmp_path / "alone.txt", "--tp", "4", "-n",
                        tmp_path / "star", "-c",
                        ROOT / "conf/SimAI.conf", "-o", tmp_path / "alone"], check=True, capture_output=True,
                       env=ENVIRONMENT)
        alone = rows(tmp_path / "alone/collectives.csv")[0]
        reduce_us = (float(alone["end_ns"]) - float(alone["start_ns"])) / 1e3
        assert float(request[column]) == pytest.approx(1 + reduce_us, abs=1e-5)


def test_an_idle_transfer_takes_its_flows_completion_time(tmp_path):
    """A cache of 90,000 bytes over two links of 100 Gb/s and 1 us each, in frames of 9,000 bytes with 82 of headers."""
    workload = one_request(90, 2) + ("kv_bytes 1000\nkv_transfer whole\ninstances prefill 0\n" + LINEAR.format(1000) +
                                     "instances decode 1\n" + LINEAR.format(1000))
    run = simulate(tmp_path, workload, network="packet")
    request = rows(run / "requests.csv")[0]
    frame_ns, ack_ns = (9000 + 82) * 8 / 100, 84 * 8 / 100
    arrival_ns = 11 * frame_ns + 2000
    assert float(request["bytes"]) == 90000
    assert float(request["transfer_us"]) == pytest.approx(arrival_ns / 1e3, abs=1e-6)
    fct = (run / "fct.txt").read_text().split()
    assert float(fct[6]) == pytest.approx(arrival_ns + 2 * ack_ns + 2000, abs=1)
    # Without packets the last frame's second link is the same; formulas agree to the picosecond.
    for network in ("flow", "analytical"):
        run = simulate(tmp_path, workload, network=network)
        assert float(rows(run / "requests.csv")[0]["transfer_us"]) == pytest.approx(arrival_ns / 1e3, rel=0.01)


def test_results_add_up_on_every_network(tmp_path):
    """Eight ranks, experts, pipelines, preemptions: every request is served once, and its time has four parts."""
    topology = tmp_path / "servers"
    run_script([ROOT / "topologies/gen_Topo_Template.py", "-topo", "Spectrum-X", "-g", "16", "-gps", "8",
                "-psn", "8", "-gt", "H100", "-bw", "400Gbps", "-o", topology], check=True)
    workload = ("INFERENCE\nrequests 12\nrate 20000\nprompt_tokens uniform 20 60\noutput_tokens uniform 2 12\n"
                "layers 4\n"
                "kv_heads 4\nkv_bytes 64\npp_comm 64\nnum_gpu_blocks 12\nblock_size 8\nmax_num_batched_tokens 48\n"
                "row attention all linear 3000 20 100 1 ALLREDUCE_TP 64\n"
                "row experts all linear 2000 10 0 0 ALLTOALL_EP 128\n"
                "row back all linear 500 0 0 0 ALLTOALL_EP 128\ninstances prefill 0-7 tp: 2 ep: 2\n"
                "instances decode 8-15 tp: 2 pp: 2\n")
    for network in ("packet", "flow", "analytical"):
        run = simulate(tmp_path, workload, network=network, topology=topology)
        requests = rows(run / "requests.csv")
        assert sorted(int(row["request"]) for row in requests) == list(range(12))
        for row in requests:
            parts = sum(float(row[name]) for name in ("queue_us", "prefill_us", "transfer_us", "decode_us"))
            assert parts == pytest.approx(float(row["e2e_us"]), abs=1e-5)
            assert int(row["bytes"]) == 4 * 4 * 64 * int(row["prompt_tokens"])
        instances = rows(run / "instances.csv")
        assert [row["role"] for row in instances] == ["prefill"] * 2 + ["decode"] * 2
        made = sum(int(row["output_tokens"]) for row in instances)
        assert made == sum(int(row["output_tokens"]) for row in requests)
        prompts = sum(int(row["prompt_tokens"]) for row in requests)
        assert sum(int(row["prompt_tokens"]) for row in instances[:2]) == prompts
        first = {row["metric"]: row for row in rows(run / "inference.csv")}
        mean = sum(float(row["ttft_us"]) for row in requests) / 12
        assert float(first["ttft_us"]["mean"]) == pytest.approx(mean, abs=1e-5)
    again = simulate(tmp_path, workload, "--quiet", network="analytical", topology=topology)
    assert rows(again / "requests.csv") == requests


SERVERS = {"colocated": "instances colocated 0-3 tp: 2\n" + LINEAR.format(1000),
           "disaggregated": "kv_bytes 100\ninstances prefill 0\n" + LINEAR.format(1000) + "instances decode 1\n"
           + LINEAR.format(1000)}


def serve_trace(place, requests, servers, **more):
    """@return the run's directory, and what the simulator prints, of a trace of (prompt, output)"""
    (place / "trace.csv").write_text("arrival_s,prompt_tokens,output_tokens\n" + "".join(
        f"{number / 1e3},{prompt},{output}\n" for number, (prompt, output) in enumerate(requests)))
    (place / "star").write_text("5 1 4\n4\n" + "".join(f"{host} 4 100Gbps 1us 0\n" for host in range(4)))
    (place / "serve.txt").write_text("INFERENCE\ntrace trace.csv\n" + "".join(f"{k} {v}\n" for k, v in more.items())
                                     + servers)
    return subprocess.run([PROGRAMS / "SimAI_simulator", *"-w serve.txt -n star --network flow -o run".split()],
                          cwd=place,
                          capture_output=True, text=True, env=ENVIRONMENT)


@pytest.mark.parametrize("servers", SERVERS)
@pytest.mark.parametrize("limit, fits", [
    ({"num_gpu_blocks": 10, "block_size": 16}, lambda prompt, output: prompt + output - 1 <= 160),
    ({"max_model_len": 100}, lambda prompt, output: prompt + output <= 100)])
def test_requests_that_do_not_fit_are_refused_and_the_others_served(tmp_path, servers, limit, fits):
    requests = [(50, 5), (5000, 5), (96, 4), (96, 5), (156, 5), (157, 5), (20, 2)]
    done = serve_trace(tmp_path, requests, SERVERS[servers], **limit)
    served = [number for number, request in enumerate(requests) if fits(*request)]
    assert done.returncode == 0 and 0 < len(served) < len(requests) - 1, done.stderr
    assert sorted(int(row["request"]) for row in rows(tmp_path / "run/requests.csv")) == served
    refused = len(requests) - len(served)
    warning, = (line for line in done.stderr.splitlines() if line.startswith("warning: serve.txt"))
    assert (
        f"{refused} of {len(requests)} requests do not fit and are refused; the first of them, request 1 has 500"
        in warning
    )
    assert f"{len(served)} requests, " in done.stdout and f"; {refused} refused" in done.stdout
    found = {row["metric"]: float(row["mean"]) for row in rows(tmp_path / "run/inference.csv")}
    assert (found["requests"], found["refused"]) == (len(served), refused)
    table = next(table for table in all_tables([open_run(tmp_path / "run")]) if table.key == "serving").records()[0]
    assert (table["requests"], table["refused"]) == (len(served), refused)


@pytest.mark.parametrize("requests, said", [
    ([(50, 0), (50, 5), (60, 0), (20, 2)], "2 of 4 requests have no output; they are left out"),
    ([(0, 5), (50, 5)], "1 of 2 requests have no prompt; they are left out"),
    ([(0, 5), (50, 5), (0, 0)], "1 of 3 requests have no output and 1 of 3 requests have no prompt; they are left out"),
    ([(50, 5), (20, 1)], "")])
def test_requests_without_prompt_or_output_are_counted_and_left_out(tmp_path, requests, said):
    done = serve_trace(tmp_path, requests, SERVERS["colocated"])
    assert done.returncode == 0, done.stderr
    good = [request for request in requests if min(request) > 0]
    assert [(int(row["prompt_tokens"]), int(row["output_tokens"]))
            for row in rows(tmp_path / "run/requests.csv")] == good
    warnings = [line for line in done.stderr.splitlines() if "left out" in line]
    assert warnings == ([f"warning: trace.csv: {said}"] if said else [])
    record = json.loads((tmp_path / "run/run.json").read_text())
    assert record.get("requests_left_out", 0) == len(requests) - len(good)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("trace", [b"arrival_s,prompt_tokens,output_tokens\n0,50,5\n",
                                   b'{"timestamp": 0, "input_length": 50, "output_length": 5, "hash_ids": []}\n'])
def test_a_byte_order_mark_before_a_trace_changes_nothing(tmp_path, mark, trace):
    (tmp_path / "some.csv").write_bytes(mark + trace)
    run = simulate(tmp_path, "INFERENCE\ntrace some.csv\n" + SERVERS["colocated"])
    assert [(row["prompt_tokens"], row["output_tokens"]) for row in rows(run / "requests.csv")] == [("50", "5")]


def test_nothing_is_served_where_no_request_fits(tmp_path):
    done = serve_trace(tmp_path, [(5000, 5), (6000, 5)], SERVERS["colocated"], num_gpu_blocks=10)
    assert (
        done.returncode == 2
        and "request 0 has 5004 tokens to keep, 313 blocks; expected at most num_gpu_blocks, 10" in done.stderr
    )


def test_goodput_is_of_limits_and_counts_refused_requests_as_failed(tmp_path):
    requests = [(50, 5)] * 3 + [(5000, 5)]
    done = serve_trace(tmp_path, requests, SERVERS["colocated"], num_gpu_blocks=10)
    assert "within the limits" not in done.stdout and "goodput" not in done.stdout
    assert not {"within_limits", "goodput_per_second"} & {row["metric"] for row in rows(tmp_path / "run/inference.csv")}
    done = serve_trace(tmp_path, requests, SERVERS["colocated"], num_gpu_blocks=10, e2e_limit_ms=1000)
    assert "75.0% within the limits" in done.stdout
    found = {row["metric"]: row["mean"] for row in rows(tmp_path / "run/inference.csv")}
    assert float(found["within_limits"]) == 0.75


def test_caches_that_move_are_called_so(tmp_path):
    assert serve_trace(tmp_path, [(50, 5)], SERVERS["disaggregated"]).returncode == 0
    assert {(row["op"], row["group"], row["layer"]) for row in rows(tmp_path / "run/collectives.csv")} == {
        ("SendRecv", "KV", "kv_transfer")}
    (tmp_path / "serve.txt").write_text("KV_CACHE\nprefill 0\ndecode 1\nrequests 2\nrate 1000\nprompt_tokens 50\n"
                                        "layers 2\nkv_heads 2\nhead_dim 8\n")
    done = subprocess.run([PROGRAMS / "SimAI_simulator", *"-w serve.txt -n star --network flow -o run".split()],
                          cwd=tmp_path,
                          capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    assert {row["group"] for row in rows(tmp_path / "run/collectives.csv")} == {"KV"}
    assert "KV cache 100%" in (tmp_path / "run/links.csv").read_text()


def test_a_plane_carries_caches_alone(tmp_path):
    topology = tmp_path / "dual"
    run_script([ROOT / "topologies/gen_Topo_Template.py", "-topo", "AlibabaHPN", "--dp", "-g", "16", "-asn",
                "16", "-psn", "16", "-o", topology], check=True)
    workload = one_request(200, 3).replace("requests 1\n",
                                           "requests 6\n") + ("layers 2\nkv_heads 8\nkv_bytes 256\n"
                                               "instances prefill 0-7 tp: 8\n"
                                      "row a all linear 1000 10 0 0 NONE 0\ninstances decode 8-15 tp: 8\n" +
                                      LINEAR.format(1000))

    def nics(*arguments):
        """@return bytes that the first and the second NIC of GPU 0 send"""
        run = simulate(tmp_path, workload, *arguments, topology=topology, network="flow")
        assert "KV cache" in (run / "links.csv").read_text()
        sent = [int(row["tx_bytes"]) for row in rows(run / "links.csv") if row["node"] == "0"]
        return sent[1:]  # the first port is NVLink's

    both = nics()
    assert both[0] > 0 and both[1] > 0
    assert nics("--set", "PLANE=KV 1")[0] == 0
    first, second = nics("--set", "PLANE=KV 0")
    assert second == 0 and first == pytest.approx(sum(both), rel=0.01)
    for value, expected in (("KV 2", "hosts have 2 NICs"), ("XY 0", "'XY' is not a class of traffic"),
                            ("KV", "PLANE has 1 values"),
                            ("KV x", "PLANE cannot be 'x'")):
        assert expected in simulate(tmp_path, workload, "--set", f"PLANE={value}", topology=topology, status=2)


def test_tables_and_plots_show_what_was_served(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        simulate(tmp_path / name, "INFERENCE\nrequests 20\nrate 50000\nprompt_tokens uniform 5 50\noutput_tokens 3\n"
                 "ttft_limit_ms 0.006\ninstances colocated 0\nrow a all linear 1000 100 0 0 NONE 0\n")
    runs = open_runs([tmp_path / "a/run", tmp_path / "b/run"])
    tables = {table.key: table for table in all_tables(runs)}
    served = dict(zip(tables["serving"].columns, tables["serving"].rows[0]))
    frame = runs[0].served
    assert served["requests"] == 20
    assert served["within limits %"] == pytest.approx(100 * (frame["ttft_us"] <= 6).mean())
    assert 0 < served["within limits %"] < 100
    assert served["ttft p99 ms"] == pytest.approx(frame["ttft_us"].max() / 1e3)
    phases = dict(zip(tables["phases"].columns, tables["phases"].rows[0]))
    assert phases["queue %"] + phases["prefill %"] + phases["transfer %"] + phases["decode %"] == pytest.approx(100)
    assert tables["instances"].rows[0][3] == "colocated"
    assert "requests" not in tables  # those are of KV-cache workloads
    assert not runs[0].read_all()
    assert len(KINDS["latencies"].draw(runs).axes) == 3
    assert KINDS["phases"].draw(runs).axes[0].get_xlabel().startswith("mean over requests")


def test_a_run_that_serves_has_no_critical_path(tmp_path):
    run = simulate(tmp_path, one_request(1, 1) + "instances colocated 0\n" + LINEAR.format(1))
    done = run_script([ROOT / "scripts/why.py", run, "--program", PROGRAMS / "SimAI_simulator"])
    assert done.returncode == 2 and "the run served requests" in done.stderr and done.stderr.count("\n") == 1


def test_what_is_wrong_is_said_in_a_line(tmp_path):
    base = ("--model_name", "llama3_8b", "--requests", 1, "--rate", 1, "--prompt_tokens", 1, "--output_tokens", 1)
    assert "expected --world_size, or --prefill_gpus" in generate(tmp_path, *base, status=2)
    assert "does not divide 3 GPUs" in generate(tmp_path, *base, "--world_size", 3, "--tp", 2, status=2)
    assert "leaves no room for a cache" in generate(tmp_path, *base[2:], "--model_name", "llama3_70b", "--world_size",
                                                    1, status=2)
    assert "no such file" in generate(tmp_path, *base[:2], "--world_size", 1, "--trace", tmp_path / "none", status=2)
    assert "serve.txt:2: unknown key 'rats'" in simulate(tmp_path, "INFERENCE\nrats 3\n", status=2)
    message = simulate(tmp_path, one_request(1, 1) + "instances colocated 0-7\n" + LINEAR.format(1), status=2)
    assert "rank 7 does not exist" in message and message.count("\n") == 1


def test_azures_trace_is_read(tmp_path):
    trace = tmp_path / "azure.csv"
    trace.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,2\n"
                     "2023-11-16 18:15:46.6905900,396,3\n2023-11-16 18:15:50.9951690,879,4\n")
    text = generate(tmp_path, "--model_name", "llama3_8b", "--num_layers", 2, "--world_size", 2, "--trace", trace,
                    "--requests", 2)
    run = simulate(tmp_path, text)
    requests = {row["request"]: row for row in rows(run / "requests.csv")}
    assert [requests[name]["prompt_tokens"] for name in "01"] == ["374", "396"] and len(requests) == 2
    assert float(requests["1"]["arrival_us"]) == 10000
    facts = json.loads((tmp_path / "w.json").read_text())
    assert facts["pools"][0]["role"] == "colocated" and facts["world_size"] == 2
    assert open_run(run).served["output_tokens"].tolist() == [2, 3]


def test_layers_with_chunks_reach_the_tokens_of_their_chunk(tmp_path):
    # Four layers of a Llama-4-like model with chunks of 64 tokens, three of which have them; one prompt of 1,600
    # tokens, and 25 chunks.
    star = tmp_path / "pair"
    star.write_text("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")
    times = {}
    for name, chunk in (("full", 4096), ("chunks", 64)):
        place = tmp_path / name
        place.mkdir()
        (place / "config.json").write_text(json.dumps({
            "model_type": "llama4_text", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 4,
            "num_attention_heads": 8,
            "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 32000, "attention_chunk_size": chunk}))
        text = generate(place, "--config", place / "config.json", "--world_size", 1, "--requests", 1, "--rate", 1e6,
                        "--prompt_tokens", 1600,
                        "--output_tokens", 2)
        assert "window" not in text  # caches keep all tokens
        run = simulate(place, text, topology=star, network="analytical")
        request = rows(run / "requests.csv")[0]
        times[name] = float(request["prefill_us"]), float(request["decode_us"])
    gpu = gpus.find("H100", kernels="roofline")
    rate = gpu.memory_gbps * gpu.stream
    moved = 1600 * 6 * 2 * 1024 / rate  # keys, values, query; keys, values, result
    full, chunks = (max(4 * 1024 * scores / (gpu.tflops * 1e3 * gpu.attention[0]), moved)
                    for scores in (1600 * 1600 / 2, 25 * 64 * 64 / 2))
    assert times["full"][0] - times["chunks"][0] == pytest.approx(3 * (full - chunks) / 1e3, rel=0.01)
    # A decoding sequence is at the beginning of its chunk: it reads one token's keys and values instead of 1,601.
    assert times["full"][1] - times["chunks"][1] == pytest.approx(3 * (1601 - 1) * 4 * 1024 / rate / 1e3, rel=0.01)


def test_layers_with_a_window_read_and_keep_its_tokens(tmp_path):
    # Four layers of a Gemma-like model, three of them with a window of 64 tokens; one request of 1,600 tokens.
    config = {"model_type": "mistral", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 4,
              "num_attention_heads": 8, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 32000}
    windows = {"sliding_window": 64, "layer_types": ["sliding_attention"] * 3 + ["full_attention"]}
    star = tmp_path / "pair"
    star.write_text("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")
    times, peaks = {}, {}
    for name, keys in (("full", {}), ("windows", windows)):
        place = tmp_path / name
        place.mkdir()
        (place / "config.json").write_text(json.dumps({**config, **keys}))
        text = generate(place, "--config", place / "config.json", "--world_size", 1, "--requests", 1, "--rate", 1e6,
                        "--prompt_tokens", 1600, "--output_tokens", 2)
        run = simulate(place, text, topology=star, network="analytical")
        times[name] = float(rows(run / "requests.csv")[0]["prefill_us"])
        peaks[name] = int(rows(run / "instances.csv")[0]["peak_blocks"])
    # A block has 16 tokens, with windows of one layer; a window of 64 tokens lies in five blocks.
    assert peaks["full"] == -(-1601 // 16)
    assert peaks["windows"] == 101 + 3 * 5
    # Each score and its product with a value: 2 x 2 x 1024 operations. Of each token attention reads keys, values and
    # query, and writes keys, values and result: 1,024 numbers of two bytes each.
    gpu = gpus.find("H100", kernels="roofline")
    moved = 1600 * 6 * 2 * 1024 / (gpu.memory_gbps * gpu.stream)
    full, windowed = (max(4 * 1024 * scores / (gpu.tflops * 1e3 * gpu.attention[0]), moved)
                      for scores in (1600 * 1601 / 2, 64 * 65 / 2 + (1600 - 64) * 64))
    assert full > moved
    assert times["full"] - times["windows"] == pytest.approx(3 * (full - windowed) / 1e3, rel=1e-3)
    assert "prefix caching is not modelled" in generate(
        tmp_path / "windows", "--config", tmp_path / "windows/config.json", "--world_size", 1, "--requests", 1,
        "--rate", 1,
        "--prompt_tokens", 9, "--output_tokens", 1, "--enable_prefix_caching", 1, status=2)


def test_eight_bit_weights_and_caches_take_half_the_bytes(tmp_path):
    model = catalogue.find("llama2_7b")
    plain, small = Instance(model, 1), Instance(model, 1, dtype="fp8", cache="fp8")
    assert small.kept.tokens[0] * 2 == plain.kept.tokens[0] == 2 * 2 * 32 * 128
    kinds = {row.name: row.kind for row in small.rows()}
    assert kinds["qkv"] == kinds["mlp_up"] == "matmul_fp8" and kinds["logits"] == "matmul"
    # 6.74 billion parameters; the embedding and the logits, 0.26 billion, keep their two bytes.
    weights = sum(small.weight_bytes(o) for layer in range(32) for o in operators.layer(model, small.one_token, layer))
    weights += sum(small.weight_bytes(o) for o in (*operators.embedding(model, small.one_token),
                                                   *operators.head(model, small.one_token)))
    assert weights == pytest.approx(6.738e9 + 2 * 32000 * 4096, rel=2e-3)
    text = generate(tmp_path, "--model_name", "llama2_7b", "--world_size", 1, "--requests", 1, "--rate", 1,
                    "--prompt_tokens", 9,
                    "--output_tokens", 1, "--dtype", "fp8", "--kv-cache-dtype", "fp8")
    assert "fp8_tflops: 1979 fp8_matmul: 0.709" in text and "kv_bytes 256\n" in text
    assert "has no 8-bit floats" in generate(tmp_path, "--model_name", "llama2_7b", "--world_size", 1, "--requests", 1,
                                             "--rate", 1, "--prompt_tokens", 9, "--output_tokens", 1, "--gpu_type",
                                             "A100",
                                             "--dtype", "fp8", status=2)


def test_four_bit_weights_take_nine_sixteenths_of_a_byte_but_for_operators_that_keep_theirs(tmp_path):
    model = catalogue.find("llama2_7b")
    small = Instance(model, 1, dtype="nvfp4", precise=precision.Precise(operators=(("qkv", "fp8"),)))
    weights = {o.name: small.weight_bytes(o) / o.parameters
               for o in (*operators.layer(model, small.one_token, 0), *operators.head(model, small.one_token))
               if o.parameters}
    assert {name: weights[name] for name in ("qkv", "mlp_up", "logits")} == {"qkv": 1, "mlp_up": 9 / 16, "logits": 2}
    common = ["--model_name", "llama2_7b", "--num_layers", 2, "--world_size", 1, "--requests", 1, "--rate", 1,
              "--prompt_tokens", 900, "--output_tokens", 1,
              "--dtype", "nvfp4"]
    text = generate(tmp_path, *common, "--gpu_type", "B200", "--operator_dtype", "qkv=fp8")
    assert "fp8_tflops: 4500 fp8_matmul: 0.763 fp4_tflops: 9000 fp4_matmul: 0.589" in text
    kinds = {line.split()[1]: line.split()[3] for line in text.splitlines() if line.startswith("row ")}
    assert (kinds["qkv"], kinds["mlp_up"], kinds["logits"]) == ("matmul_fp8", "matmul_nvfp4", "matmul")
    assert generate(tmp_path, *common, "--gpu_type", "B200", "--operator_dtype",
                    "linear_qkv=fp8") == text, "of its products those that the model has"
    pair = tmp_path / "pair"
    pair.write_text("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")
    simulate(tmp_path, text, topology=pair, network="analytical")
    assert "needs products of 4-bit floats; expected fp4_tflops: in" in simulate(tmp_path,
        text.replace("fp4_tflops: 9000 ", ""), topology=pair, status=2)
    assert "H100 has no 4-bit floats" in generate(tmp_path, *common, "--gpu_type", "H100", status=2)
    assert '"experts" is not a product of' in generate(tmp_path, *common, "--gpu_type", "B200", "--operator_dtype",
                                                       "experts=fp8", status=2)
    assert "expected OPERATOR=TYPE with one of bfloat16" in generate(tmp_path, *common, "--gpu_type", "B200",
        "--operator_dtype", "qkv=mxfp8", status=2)


def test_the_fullest_rank_of_uneven_experts_gets_as_many_tokens_as_in_training(tmp_path):
    common = ["--model_name", "mixtral_8x7b", "--num_layers", 1, "--world_size", 4, "--ep", 4, "--requests", 1,
              "--rate", 1, "--prompt_tokens", 9,
              "--output_tokens", 1]
    (tmp_path / "loads").write_text("1\n" * 6
                                    + "5\n" * 2)  # the last rank's experts get 10 of 16 tokens, 2.5 times the mean
    even, uneven = ({line.split()[1]: line.split() for line in generate(tmp_path, *common, *more).splitlines()
                     if line.startswith("row ")}
                    for more in ((), ("--moe_imbalance", tmp_path / "loads")))
    for name, field in (("expert_up", 7), ("expert_activation", 5), ("dispatch", -1), ("combine", -1)):
        assert float(uneven[name][field]) == 2.5 * float(even[name][field]) > 0, name
    assert {name: row for name, row in uneven.items() if "expert" not in name
            and name not in ("dispatch", "combine")} == {
        name: row for name, row in even.items() if "expert" not in name and name not in ("dispatch", "combine")}
    assert "has no experts" in generate(tmp_path, "--model_name", "llama3_8b", "--moe_imbalance", "zipf:1",
                                        *common[2:6], *common[8:], status=2)


def test_dispatchers_send_a_token_to_its_experts_or_ranks_and_in_fewer_bits(tmp_path):
    common = ["--model_name", "mixtral_8x7b", "--num_layers", 1, "--world_size", 4, "--ep", 4, "--requests", 1,
              "--rate", 1, "--prompt_tokens", 9,
              "--output_tokens", 1]
    # Two of eight experts are on one of four ranks with a probability of 1 in 7.
    for dispatcher, copies in (("alltoall", 2), ("deepep", 2 - 1 / 7), ("allgather", 4)):
        for dtype, bytes_ in (("bf16", 2), ("fp8", 1 + 4 / 128), ("nvfp4", 9 / 16)):
            text = generate(tmp_path, *common, "--moe_dispatcher", dispatcher, "--moe_dispatch_dtype", dtype)
            sent = {line.split()[1]: float(line.split()[-1]) for line in text.splitlines() if line.startswith("row ")}
            assert (sent["dispatch"], sent["combine"]) == pytest.approx((4096 * copies * bytes_, 4096 * copies * 2),
                rel=1e-9)


def test_requests_go_where_their_beginning_is(tmp_path):
    served = {}
    for router in ("least_loaded", "kv_aware"):
        # Four instances; each keeps 320 blocks of 16, two or three of the eight beginnings of 1,600 tokens.
        text = ("INFERENCE\nrequests 200\nrate 20\nprompt_tokens 1700\noutput_tokens 1\nshared_prefix_tokens 1600\n"
                f"shared_prefixes 8\nnum_gpu_blocks 320\nrouter {router}\ninstances colocated 0-3\n" + LINEAR.format(0)
                ).replace("linear 0 0", "linear 0 10000")
        served[router] = rows(simulate(tmp_path, text, network="analytical") / "requests.csv")
    hits = {router: sum(int(row["cached_tokens"]) == 1600 for row in found) for router, found in served.items()}
    assert hits["kv_aware"] > 1.3 * hits["least_loaded"] > 0, hits


def test_the_flags_of_aicb_s_main_program_are_read(tmp_path):
    flags = ["--world_size", "1", "--requests", "1", "--rate", "1", "-o", str(tmp_path), "--model_name", "llama2_7b"]
    script = ROOT / "scripts/workload.py"
    for name, more in (("aicb", ["--workload_type", "inference", "--num_prefill_tokens", "1024", "--num_decode_tokens",
                                 "128"]),
                       ("ours", ["--inference", "--prompt_tokens", "1024", "--output_tokens", "128"])):
        done = subprocess.run([sys.executable, script, *flags, *more, "--name", name], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "aicb.txt").read_text() == (tmp_path / "ours.txt").read_text()


def test_the_flags_of_vllm_bench_serve_are_read(tmp_path):
    common = ["--model_name", "llama2_7b", "--world_size", "1"]
    theirs = generate(tmp_path, *common, "--num-prompts", "9", "--max-concurrency", "4", "--request-rate", "inf",
                      "--random-input-len", "1025", "--random-output-len", "2", "--random-range-ratio", "0.5",
                      "--random-prefix-len", "64")
    # From the length times 0.5, rounded down, to the length times 1.5, rounded up; the prefix comes on top.
    ours = generate(tmp_path, *common, "--requests", "9", "--max_concurrency", "4", "--rate", "inf",
                    "--prompt_tokens", "uniform 576 1602", "--output_tokens", "uniform 1 3",
                    "--shared_prefix_tokens", "64")
    assert theirs == ours
    assert "--random_range_ratio \"1\" is not valid" in generate(
        tmp_path, *common, "--requests", "9", "--rate", "1", "--prompt_tokens", "9", "--output_tokens", "9",
        "--random-range-ratio", "1", status=2)
    assert "need one length; expected a number in --prompt_tokens" in generate(
        tmp_path, *common, "--requests", "9", "--rate", "1", "--prompt_tokens", "exponential 9", "--output_tokens", "9",
        "--random-range-ratio", "0.1", status=2)


def test_a_closed_loop_needs_no_rate(tmp_path):
    text = generate(tmp_path, "--model_name", "llama2_7b", "--world_size", "1", "--num_layers", "1", "--requests", "40",
                    "--concurrency", "4", "--prompt_tokens", "64", "--output_tokens", "8")
    run = simulate(tmp_path, text, network="analytical")
    served = rows(run / "requests.csv")
    changes = [(round(float(row["arrival_us"]) + delay, 3), change) for row in served
               for delay, change in ((0, 1), (float(row["e2e_us"]), -1))]
    most = max(itertools.accumulate(change for _, change in sorted(changes)))
    assert most == 4
    metrics = [row["metric"] for row in rows(run / "inference.csv")]
    assert metrics[:5] == ["ttft_us", "tpot_us", "e2e_us", "requests_per_second", "output_tokens_per_second"]


def test_a_turn_of_a_session_finds_its_conversation_in_the_cache(tmp_path):
    trace = tmp_path / "turns.csv"
    trace.write_text("arrival_s,prompt_tokens,output_tokens,session_id\n0,100,29,1\n0,150,5,1\n9,150,5,\n")
    text = f"INFERENCE\ntrace {trace}\ninstances colocated 0\n" + LINEAR.format(1000)
    served = {row["request"]: row for row in rows(simulate(tmp_path, text, network="analytical") / "requests.csv")}
    assert [served[each]["cached_tokens"] for each in "012"] == ["0", "128", "0"]
    assert float(served["1"]["arrival_us"]) == float(served["0"]["e2e_us"])


@pytest.mark.parametrize("flags, line", [
    (["--time_scale", "2"], "--time_scale has no effect without --trace; expected both or neither"),
    (["--shared_prefixes", "2"], "--shared_prefixes has no effect without --shared_prefix_tokens; expected both or "
     "neither"),
    (["--turn_tokens", "2"], "--turn_tokens has no effect without --turns; expected both or neither"),
    (["--think_ms", "2"], "--think_ms has no effect without --turns or --max_concurrency; expected both or neither"),
    (["--swap_gbps", "2"], "--swap_gbps has no effect without --preemption_mode swap; expected both or neither"),
    (["--kv_transfer", "whole"], "--kv_transfer has no effect without --decode_gpus; expected both or neither"),
    (["--kv_layers_per_message", "2"], "--kv_layers_per_message has no effect without --decode_gpus; expected both or "
     "neither"),
    (["--first_token", "prefill"], "--first_token has no effect without --decode_gpus; expected both or neither"),
    (["--decode_router", "kv_aware"], "--decode_router has no effect without --decode_gpus; expected both or neither")])
def test_a_flag_that_needs_another_is_refused_alone(tmp_path, flags, line):
    done = run_script([ROOT / "scripts/workload.py", "--inference", "--model_name", "llama2_7b", "--world_size", "8",
                       "--tp", "8",
                       "--requests", "1", "--rate", "1", "--prompt_tokens", "2", "--output_tokens", "1", "-o", tmp_path,
                       *flags])
    assert done.returncode == 2 and done.stderr.endswith(f"{line}\n") and done.stderr.count("\n") == 1


NEITHER = ("x", "-1", "1.5.2", "1 2", "nan", "1e999", "9" * 30, "0x10", "")
NO_NAMES = [each for each in NEITHER if not each.isalpha()]


@pytest.mark.parametrize("key, good, bad", [
    ("requests", ("1", "007"), ("0", "10000001", "1.0", *NEITHER)),
    ("rate", ("1", "1e18", ".5", "inf"), ("0", "1e-10", "1.1e18", "infinity", *NEITHER)),
    ("max_concurrency", ("1", str(2**32 - 1)), ("0", str(2**32), "inf", *NEITHER)),
    ("burstiness", ("0.01", "1", "inf"), ("0", "0.009", *NEITHER)),
    ("burst", ("1", "10000000"), ("0", "10000001", *NEITHER)),
    ("turns", ("2", "uniform 1 3"), ("0", "uniform 3 1", *NEITHER)),
    ("seed", ("0", str(2**63 - 1)), (str(2**63), *NEITHER)),
    ("prompt_tokens", ("2", "uniform 2 2", "uniform 2 3", "exponential 2", "lognormal 3 2"),
     ("0", "uniform 3 2", "uniform 2", "exponential 2 2", "lognormal 2", "16777217", *NEITHER)),
    ("router", ("kv_aware", "round_robin"), NO_NAMES),
    ("kv_transfer", ("whole",), ("both", *NEITHER)),
    ("first_token", ("prefill", "decode"), ("both", *NEITHER)),
    ("ttft_limit_ms", ("1", "0.5", "9e9"), ("0", "1e10", *NEITHER)),
    ("max_num_seqs", ("1", str(2**32 - 1)), ("0", str(2**32), *NEITHER)),
    ("block_size", ("1", "16777216"), ("0", "16777217", *NEITHER)),
    ("enable_prefix_caching", ("0", "1"), ("2", *NEITHER)),
    ("scheduling_policy", ("fcfs",), NO_NAMES),
    ("preemption_mode", ("swap",), NO_NAMES),
    ("step_overhead_ns", ("0", "0.5"), ("1e17", *NEITHER)),
    ("launch_ns", ("0", "0.5"), ("1e17", *NEITHER)),
    ("capacity_scheduler_policy", ("guaranteed_no_evict", "max_utilization"), NO_NAMES),
    ("cudagraph_capture_sizes", ("1", "1 2 8"), ("0", "2 1", "2 2", "4294967296",
                                                 *(each for each in NEITHER if each != "1 2"))),
])
def test_a_value_is_refused_where_the_file_is_written_as_where_it_is_read(tmp_path, key, good, bad):
    flags = {"requests": "1", "rate": "1e6", "prompt_tokens": "2", "output_tokens": "1"}
    instances = ["--prefill_gpus", "1", "--decode_gpus", "1"] if key in ("kv_transfer",
        "first_token") else ["--world_size", "1"]
    common = ["--model_name", "llama2_7b", "--num_layers", "1", *instances, "--num_gpu_blocks", "9"]
    star = tmp_path / "pair"
    star.write_text("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")
    text = generate(tmp_path, *common, *(word for name, value in flags.items() for word in ("--" + name, value)))
    kept = "".join(line + "\n" for line in text.splitlines()[1:] if line.split(" ")[0] != key)
    for value in (*good, *bad):
        status = 0 if value in good else 2
        others = (f"--{name}={each}" for name, each in flags.items() if name != key)
        arguments = ["-o", str(tmp_path), *common, *others, f"--{key}={value}"]
        if status:
            with pytest.raises(InputError, match=f"--{key} .*; expected "):
                inference_command.run(arguments)
        else:
            inference_command.run(arguments)
        said = simulate(tmp_path, f"INFERENCE\n{key} {value}\n{kept}", topology=star, network="analytical",
                        status=status)
        assert not status or "serve.txt:2: " in said, said


def test_a_policy_may_be_of_the_user_s_own_and_a_simulator_without_it_refuses_its_name(tmp_path):
    star = tmp_path / "pair"
    star.write_text("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")
    text = generate(tmp_path, "--model_name", "llama2_7b", "--num_layers", "1", "--world_size", "1", "--requests", "1",
                    "--rate", "1", "--prompt_tokens", "2",
                    "--output_tokens", "1", "--router", "least_load")
    said = simulate(tmp_path, text, topology=star, network="analytical", status=2)
    assert "router is 'least_load'; expected kv_aware, least_loaded, round_robin or session; the nearest is" in said


def test_the_tool_asks_for_what_the_simulator_needs_to_know_of_requests(tmp_path):
    common = ["--model_name", "llama2_7b", "--world_size", "1"]
    whole = ["--requests=1", "--rate=1", "--prompt_tokens=2", "--output_tokens=1"]
    for missing in range(4):
        said = generate(tmp_path, *common, *whole[:missing], *whole[missing + 1:], status=2)
        assert f"{whole[missing].split('=')[0]} is missing; expected --trace" in said
    (tmp_path / "trace.csv").write_text("arrival_s,prompt_tokens,output_tokens\n0,5,5\n")
    for flag in whole[1:]:
        said = generate(tmp_path, *common, "--trace", tmp_path / "trace.csv", flag, status=2)
        assert f"--trace and {flag.split('=')[0]} exclude each other" in said
    assert not (tmp_path / "w.txt").exists()
    generate(tmp_path, *common, "--trace", tmp_path / "trace.csv", whole[0])


def test_the_figures_of_the_page_are_those_of_its_example(tmp_path):
    page = " ".join((ROOT / "docs/source/howto/inference.rst").read_text().split())
    common = ("--inference --model_name llama2_7b --num_layers 8 --tp 4 --requests 40 --rate 300 "
              "--max_num_batched_tokens 2048 "
              "--frontend_ns 0 --frontend_latency_ns 0 --ttft_limit_ms 20 --tpot_limit_ms 2.5 -o .").split()
    lengths = ["--prompt_tokens", "uniform 500 3500", "--output_tokens", "uniform 5 15"]

    def script(name, *arguments):
        run_script([ROOT / name, *arguments], cwd=tmp_path, check=True)

    script("scripts/workload.py", *common, *lengths, "--world_size", "16", "--name", "together")
    script("scripts/workload.py", *common, *lengths, "--prefill_gpus", "8", "--decode_gpus", "8", "--name", "apart")
    script("topologies/gen_Topo_Template.py", "-topo", "Spectrum-X", "-g", "16", "-gt", "H100", "-bw", "400Gbps",
           "-psn", "8", "-o", "x")
    script("topologies/gen_Topo_Template.py", "-topo", "AlibabaHPN", "--dp", "-g", "16", "-asn", "16", "-psn", "16",
           "-o", "hpn")
    for output, workload, topology, *more in (("together", "together.txt", "x"), ("apart", "apart.txt", "x"),
                                              ("both", "apart.txt", "hpn"),
                                              ("one", "apart.txt", "hpn", "--set", "PLANE=KV 1")):
        subprocess.run([PROGRAMS / "SimAI_simulator", "-q", "-w", workload, "-n", topology,
                        "-c", ROOT / "conf/SimAI.conf", "--network", "flow", "-o", output, *more], cwd=tmp_path,
                       check=True, env=ENVIRONMENT)
    runs = open_runs([tmp_path / name for name in ("together", "apart", "both", "one")])
    rows = {table.key: {row["run"]: row for row in table.records()}
            for table in all_tables(runs, ("serving", "phases"))}
    serving, phases = rows["serving"], rows["phases"]
    for name, start in (("together", "the 99th percentile of the time per token is"),
                        ("apart", "When they are separate, these are")):
        late, kept = re.search(rf"{start} ([\d.]+) ms,? and ([\d.]+)%", page).groups()
        assert float(late) == round(serving[name]["tpot p99 ms"], 1)
        assert float(kept) == pytest.approx(serving[name]["within limits %"], abs=0.5)
    one, both = re.search(r"for ([\d.]+) ms on average, instead of ([\d.]+) ms", page).groups()
    assert (float(one), float(both)) == tuple(round(phases[name]["transfer ms"], 2) for name in ("one", "both"))

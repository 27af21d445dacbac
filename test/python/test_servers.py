# SPDX-License-Identifier: GPL-2.0-only
"""Published servers: the flags that simulate them, the rows that score, and the record of the documentation."""
import csv
import pathlib
import sys

import pytest
from others_files import OTHERS_FILES
from script_process import run_script
from waiting import HANGS

ROOT = pathlib.Path(__file__).resolve().parents[2]
PUBLISHED = OTHERS_FILES / "serving/published.csv"
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "lab")]

import pandas as pd  # noqa: E402

from clustersim.errors import InputError  # noqa: E402
from clustersim.workload.serve import engine  # noqa: E402
from clustersim_lab.servers import breakdown, card, command, page, rows  # noqa: E402

COLUMNS = "id,source,engine,model,gpu,gpus,tp,ep,dtype,kv,inlen,outlen,conc,n,ttft_ms,tpot_ms,out_tok_s,extra"
INFORMING = engine.find("vLLM").rows[0]
LOOP = "loop,a blog,vLLM 0.11,llama3_8b,H100,1,1,1,bfloat16,bfloat16,100,11,2,4,20,8,200,"
BURST = "burst,a blog,SGLang 0.5,qwen3_30b_a3b,H100,2,2,1,fp8,bfloat16,uniform 90 110,4,0,3,,,500,"
NIM = "nim,a blog,NIM 1.8 TRT-LLM,llama3_8b,H100,1,1,1,fp8,fp8,100,11,3,9,20,8,200,"
TEP = "x-tep8-y,a blog,vLLM,minimax_m2,H200,8,8,1,fp8,bfloat16,100,11,4,9,20,8,200,"


def written(folder, *lines):
    path = folder / "published.csv"
    path.write_text("\n".join([COLUMNS, *lines]) + "\n")
    return path


def test_a_row_is_the_flags_of_its_source(tmp_path):
    loop, burst, nim, tep = rows.read(written(tmp_path, LOOP, BURST, NIM, TEP))
    assert rows.flags(loop) == {"world_size": 1, "tp": 1, "gpu_type": "H100", "dtype": "bfloat16",
                                "kv_cache_dtype": "bfloat16", "engine": "vLLM", "prompt_tokens": "100",
                                "output_tokens": "11", "requests": 20, "max_concurrency": 2}
    assert rows.flags(burst)["rate"] == "inf" and "max_concurrency" not in rows.flags(burst)
    assert [(row.profile, row.load, row.kind) for row in (loop, burst, nim)] == [
        ("vLLM", "2 to 16", "dense"), ("SGLang", "saturated", "MoE"), ("TensorRT-LLM", "2 to 16", "dense")]
    assert burst.published == {"rate": 500}
    assert (nim.is_steady, rows.flags(nim)["requests"], loop.is_steady) == (True, 30, False)
    mixed = rows.read(written(tmp_path, LOOP.replace("a blog", "gpustack/gpustack docs/x.md")))[0]
    assert {name: rows.flags(mixed)[name] for name in ("prompt_tokens", "output_tokens", "requests")} == {
        "prompt_tokens": "exponential 100", "output_tokens": "exponential 11", "requests": 100}
    dep = rows.read(written(tmp_path, TEP.replace("tep8", "dep8").replace(",8,8,1,", ",8,1,8,")))[0]
    assert [{name: rows.flags(row)[name] for name in ("tp", "dp", "enable_expert_parallel")} for row in (tep, dep)] == [
        {"tp": 8, "dp": 1, "enable_expert_parallel": True}, {"tp": 1, "dp": 8, "enable_expert_parallel": True}]


def test_rows_of_the_model_that_informs_a_profile_are_its_family(tmp_path):
    informing = LOOP.replace("loop,", INFORMING + ",")
    other = LOOP.replace("loop,", "other,").replace("llama3_8b", "qwen3_14b")
    sglang = LOOP.replace("loop,", "sglang,").replace("vLLM 0.11", "SGLang")
    found = rows.standings(rows.read(written(tmp_path, informing, LOOP, other, sglang)))
    assert found == {INFORMING: "informs", "loop": "family", "other": "apart", "sglang": "apart"}


def test_a_gpu_is_the_one_that_its_sources_figures_say(tmp_path):
    said = LOOP.replace("a blog", "gpustack/gpustack docs/performance-lab/qwen3-32b/h100.md")
    assert [row.gpu for row in rows.read(written(tmp_path, LOOP, said, said.replace("H100", "A100")))] == [
        "H100", "H100PCIe", "A100"]


def test_a_wrong_row_is_refused_with_its_line(tmp_path):
    with pytest.raises(InputError, match=r"published\.csv:3: .*'four'.* expected a row of published\.csv"):
        rows.read(written(tmp_path, LOOP, LOOP.replace(",2,4,", ",four,4,")))
    with pytest.raises(InputError, match='"TGI" is not a known engine; expected one of vLLM, '):
        rows.read(written(tmp_path, LOOP.replace("vLLM 0.11", "TGI 3")))[0].profile


def test_the_command_scores_rows_that_inform_nothing(tmp_path):
    path = written(tmp_path, LOOP.replace("100,11", "uniform 100 900,11"),
                   LOOP.replace("loop,", INFORMING + ",").replace("llama3_8b", "qwen3_8b"))
    result = run_script([ROOT / "lab/servers.py", "--data", path, "-o", tmp_path / "out", "--rows"], timeout=HANGS)
    assert result.returncode == 0, result.stderr
    made = {row["id"]: row for row in csv.DictReader((tmp_path / "out/servers.csv").read_text().splitlines())}
    assert made["loop"]["standing"] == "apart" and made[INFORMING]["standing"] == "informs"
    # Two sequences read 16 GB of weights at about 3 TB/s for each token.
    assert 5.5 < float(made["loop"]["tpot_simulated"]) < 8
    assert float(made["loop"]["tpot_ratio"]) == pytest.approx(float(made["loop"]["tpot_simulated"]) / 8, abs=1e-3)
    assert float(made["loop"]["ttft_simulated"]) == pytest.approx(
        1e-3 * float(pd.read_csv(tmp_path / "out/loop/run/inference.csv", index_col="metric")["p50"]["ttft_us"]),
        abs=1e-3)  # sources say medians
    summary = [line.split() for line in result.stdout.splitlines() if line.startswith("all ")]
    assert [(words[1], words[2]) for words in summary] == [("ttft", "1"), ("tpot", "1"), ("rate", "1")]
    refused = run_script([ROOT / "lab/servers.py", "--data", path, "--only", "nobody", "-o", tmp_path / "none"],
                         timeout=HANGS)
    assert refused.returncode == 2 and 'no row has "nobody" in its id' in refused.stderr


def test_the_operators_of_a_step_add_up_to_its_time(tmp_path):
    loop, tep = rows.read(written(tmp_path, LOOP, TEP))
    for row in (loop, tep):
        for name, lines, time in breakdown.of(row):
            assert sum(line.total for line in lines) == pytest.approx(1e3 * time), name
    found = {line.operator: line for line in next(breakdown.of(tep))[1]}
    assert (found["qkv"].layers, found["experts"].layers, found["combine"].collective) == (62, 62, "ALLREDUCE_TP")
    assert found["CPU between steps"].total == 430
    shown = run_script([ROOT / "lab/servers.py", "--data", written(tmp_path, LOOP, BURST), "--steps", "-o",
                        tmp_path / "out"], timeout=HANGS)
    assert "loop: 2 sequences decode, " in shown.stdout and "loop: a prompt of 100 tokens, " in shown.stdout
    assert "burst: no users, or lengths that are drawn" in shown.stdout and not (tmp_path / "out").exists()


@pytest.mark.others_files
def test_the_page_has_the_steps():
    shown = [row for row in rows.read(PUBLISHED) if row.id in breakdown.SHOWN]
    assert command.STEPS.read_text() == breakdown.table(shown), "run lab/servers.py --update"


def test_half_of_a_settled_loop_counts():
    class Run:
        served = pd.DataFrame({"request": range(4), "ttft_us": [9e3, 9e3, 1e3, 3e3], "tpot_us": [9e3, 9e3, 2e3, 2e3],
                               "e2e_us": [9e6, 9e6, 1e6, 3e6], "output_tokens": 10})
    assert card.settled(2, Run()) == {"ttft": 2, "tpot": 2, "rate": 2 * 10 / 2}


def test_the_page_has_the_record():
    text = page.tables(pd.read_csv(command.RECORD))
    assert command.TABLES.read_text() == text, "run lab/servers.py --update"


@pytest.mark.others_files
def test_the_record_has_every_published_row():
    published = rows.read(PUBLISHED)
    recorded = pd.read_csv(command.RECORD).set_index("id")["standing"]
    assert list(recorded.index) == [row.id for row in published]
    assert rows.standings(published) == dict(recorded)

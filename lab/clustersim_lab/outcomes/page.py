# SPDX-License-Identifier: GPL-2.0-only
"""The card of outcomes as a documentation page."""
import pathlib
from collections.abc import Sequence

import pandas as pd

from clustersim.rst import escape, list_table, percent, signed
from clustersim.workload.kernels.frameworks import Constants
from clustersim_lab.outcomes.card import GOALS, MEDIAN, Refused, WITHIN, by_family, reasons, share_written, summarize
from clustersim_lab.outcomes.runs import Run
from clustersim_lab.outcomes.scaling import CURVES, Point

WORST = 25
INTRODUCTION = """\
.. Written by lab/outcomes.py --update; do not edit.

Training runs: published and predicted
======================================

Step times that others published of training runs, and the same runs written down and estimated. This page is written by
``lab/outcomes.py --update --data end_to_end.csv``; @RUNTIME@.

"""
COMPARED = """\
Comparison
----------

- A row of the table of published figures becomes a model, a plan, a GPU, a machine and a framework. ``runs.yaml`` in
  ``lab/clustersim_lab/outcomes`` says how, with sources, and what we take where a source says nothing.
- ``clustersim.workload.estimate.estimate`` works out the step: kernels of the plan's operators, collectives on an idle network
  (``SimAI_analytical``), the pipeline's schedule, and what the framework runs beside what. The **ratio** is predicted over published.
- **Fitted constants**: @FITTED@. They are fitted together, and **each family is predicted with the constants fitted without it**. No
  constant is fitted to a row, a model or a family.
- Kernels are those of measured tables (:doc:`kernels`); all other constants are in ``frameworks.yaml``, a line of source each. Some of them
  were chosen where no measurement is published, by looking at rows of one family, and are not left out of it: launches and bytes
  of experts (``moe_kernels``, ``expert_kernels``, ``exchange_bytes``) at Megatron Bridge, the CPU time of Nanotron at the ultra-scale playbook's
  other layouts, bytes of kernels that are not fused (``stream_passes``, ``extra_bytes`` of ``torchtitan_eager``) at torchtitan.
- Rows whose GPU count is a guess, and rows of reinforcement learning are left out. Rows of fine-tuning and of servers are apart.

"""
ENGINES = """\
Servers with an engine's profile
--------------------------------

Published times and rates of servers, and the same servers simulated as a user would (``lab/servers.py``): the published model, GPUs, types, lengths and users,
and ``--engine`` with all that its profile stands for (:doc:`../howto/inference`). Ratios are simulated over published. Users in a closed loop wait for
their answer before they ask again. A server is *saturated* with more than 64 of them, or if all requests arrive at once. Times are medians, as the sources say, but means of NIM's rows,
which are measured when the loop has settled: there the second half of ten requests of each user counts. Closed loops of ShareGPT have exponential lengths with
the published means.

A row that *informs* a constant of its profile is in the second table, and in no summary. *Family* are rows of the same model and engine as one that informs;
the others are *apart* from all constants. No row of a model with experts informs anything: what its layers take comes from kernels that others measured.

.. include:: servers-table.inc

:download:`servers.csv <../data/servers.csv>` has every row with its published and simulated figures and its source. As far as it is known:

- Times per token of dense models are right, of few users and of bursts, in three engines, in 16 and 8 bits. Bursts of DeepSeek R1 are, too.
- **GPUStack's rows of Qwen3 14B and 32B are simulated on an H100 PCIe**, although their pages say H100, and one of them SXM. Their latencies between tokens,
  which no row is scored by, say so: 43.4 ms for the 64 GB of weights that one or two sequences of Qwen3 32B read, in vLLM and in SGLang. That is 1.5 TB/s;
  an H100 SXM has 3.35. A100s with 2.04 TB/s take 48.6 to 51.6 ms in the same lab, and an H100PCIe 41 here. Steps of 8,192 tokens of Qwen3 14B take 0.58 s
  there and 0.49 s here: products in a loop of minutes may lose more of 350 W than in the loop that ``loaded`` is from.
- **MiniMax on vLLM** is too fast, with attention by DP and by TP. Its rows are of an experiment (InferenceX, ``token_position_decode_slo``, whose page warns of
  errors) that computes prompts at 22,000 tokens per second on eight H200, 3% of their peak. A token takes as long with 64 users as with 16, and less with 48 users
  than with 16, and the median first token as long with 64 users as with 4: as if each step with a prompt took some 150 ms more, however long the prompt. These
  figures contradict each other in part: at the published rate, 64 users wait 6.1 s for an answer, but their median times add up to 4.1 s. Known parts of the 150 ms:

  - Popular experts: tables of experts on a share of the ranks have equal choices. By AIConfigurator's power law, the fullest of eight ranks takes 1.6 times as long
    for 8,192 tokens (vLLM 0.24, 0.97 and 0.60 ms a layer), that is 23 ms a step, and as long as with equal choices up to 512. With ``--moe_imbalance zipf:0.7`` rates of
    these rows are 2 to 15 points closer, and the reason remains.
  - Kernels that no CUDA graph launches: those of a layer number some 35, in place of 17 rows here; 5 us each are 11 ms a step and less than the kernels themselves
    take. Only at 0.4 ms a row do first tokens of 16 users come right, and then those of 64 come 3.7 times too late. The server's job asks Slurm for GPUs and
    names no CPUs, so its eight workers may have had few.
  - The backend of experts: vLLM of that month chose FlashInfer's kernels or DeepGEMM's on Hopper (issue 34249, pull request 34260); the table has Triton's. DeepGEMM doubled
    the time per token of ten users of MiniMax M2 on H100s (vllm-project/recipes pull request 112: 32 and 16 ms).
  - With DP, ranks agree on the tokens of each step beforehand, and gather tokens and router's logits by two AllGathers of NCCL, 15 us each on H100 (AIConfigurator),
    where the simulated exchange takes 11 us: up to 1.4 ms of a step that decodes.
- **Few users of DeepSeek R1** wait 19 ms for a token, here 16. Each layer lacks as much, 50 us. Known parts of that are tuned shapes of experts that
  came after 0.11 (vllm pull request 28992), and copies that pad the rows of products (issue 28427).
- **First tokens** of NIM with five users come later here than there. All answers have 500 tokens, so users stay in step: each prompt arrives while the one before
  is computed, and waits for it. With lengths from 490 to 510, times are 0.90 of the published ones instead of 1.40.

The steps of two rows with four users, by operator (milliseconds of all layers, on an idle network), are what the tables of :doc:`kernels` say. ``lab/servers.py --steps``
prints those of any row with users:

.. include:: servers-steps.inc
"""
LEFT_OUT = """\
Left out, as far as it is known:

- With keys and values of 16 bits, Qwen3 235B A22B on eight H100 would come out at 1.01 of the published rate of E760, since the cache would hold half as many
  sequences. The source leaves the type of the cache to the checkpoint, and TensorRT-LLM's references of accuracy have its 8-bit checkpoint with an 8-bit cache
  alone (``tests/integration/defs/accuracy/references/gsm8k.yaml``), as it is simulated. Experts whose fullest rank gets 1.5 times the mean
  (``--moe_imbalance zipf:0.7``) make it 1.30 instead of 1.44.
- In E761, steps take 32 ms; at the published rate as many sequences would take 43 ms. AllGather and ReduceScatter of NCCL take 1.2 ms longer than the
  simulated exchanges (AIConfigurator's measurements), and experts of a power law's popularity (exponent 1.2) take 1.2 ms longer than
  equal ones. The rest may be the work of the server's CPU between steps: no measurement of that is published.
- Llama 4 Maverick attends to chunks of 8,192 tokens in three of four layers, also while it decodes: TensorRT-LLM hands ``attention_chunk_size`` to its
  generation kernels on Blackwell, unless ``TRTLLM_DISABLE_CHUNKED_ATTENTION_IN_GEN_PHASE`` is set (``xqaDispatcher.cpp``, ``attentionOp.cpp``; its page on long
  sequences still says otherwise). A sequence reads the tokens of its chunk; those of E766, which decode in two, are taken to be half-way in
  the second. Caches keep all tokens.
- Decoding sequences beyond a captured size compute as many as the next: the 130 sequences of E738 decode as 256. The source says that caches take 0.95 of
  the memory in many cases; all rows have 0.9, its default.

"""
KNOWN = """\
As far as it is known, and not corrected:

- Nemotron 3 Super in Megatron Bridge takes 1.2 times as long as estimated on GB300, and 1.5 times on GB200, where TP 2 halves the GPU's work: a layer of
  experts with the Mamba layer before it takes 14 ms, with eight experts on a rank. That would be the CPU if Grace's launches take twice as long as those of
  x86 (GH200 stays bound by its CPU to four times larger batches than H100 with x86, arXiv 2504.11750), but nobody has published how long they take, so they
  are taken to be alike. On B300, with 64 experts on a rank and x86, launches are counted too long instead.
- GPT-OSS 120B in Megatron Bridge takes 1.2 to 1.4 times as long as estimated, also with full-iteration graphs, while Automodel's run does not. Biases of experts
  and an unfused loss, which are counted, explain a third of what was missing. Tried without a figure that explains the rest: tiles of products with 2,880
  columns, permutations, and attention that does not skip what windows leave out.
- DeepSeek-V4 Flash takes 1.25 times as long: the training of its indexer (dsa_indexer_loss_coeff) and backward passes of its attention are not known.
- MLPerf's runs keep more of the tables' rates than others do, so the constants that are fitted without them predict them as too slow.
- Backward passes of scans, convolutions and sparse attention are taken from their forward passes.
- Software moves: GPT-OSS on 64 GB200 takes 2.8 s with NeMo 26.06 and 4.5 s with 26.06.01, Qwen 3 30B on 16 H100 51, 29 and 29 s with three
  releases, in the same plan.
- Products and attention of Megatron-LM's tests are those of its deterministic mode.
- Row-wise 8-bit products of torchtitan's benchmark of June 2025 are as slow as bfloat16, and its context parallelism beyond two ranks costs more
  than the attention of other ranks' keys.
- BigScience's runs with 128 heads of 108 numbers, and with micro-batches of one, are slower than unaligned products and launches explain.

"""
SHAPE = """\
Each curve starts at 1 with its smallest job. The error is that of the predicted work per GPU and second, relative to that job. The goal is {goal}.

"""


def _number(value: float) -> str:
    return f"{value:.2f}"


def _summary_rows(frame: pd.DataFrame) -> list[tuple[object, ...]]:
    return [(row["family"], row["rows"], _number(row["median"]), _number(row["p10"]), _number(row["p90"]),
             percent(row["within"]), signed(row["bias"])) for _, row in by_family(frame).iterrows()]


def _short(frame: pd.DataFrame, written: Sequence[Run], refused: Sequence[Refused]) -> str:
    total = by_family(frame).iloc[-1]
    low, high = MEDIAN
    text = "In short\n--------\n\n"
    text += (f"- {len(written)} of {len(written) + len(refused)} training rows are written down; of those whose "
             f"source gives a full layout, "
             f"{percent(share_written(written, refused))} (goal {percent(GOALS['written'])}).\n"
             f"- Predicted over published, each family with constants fitted without it: median "
             f"{_number(total['median'])} (goal {low} to "
             f"{high}), p10 {_number(total['p10'])}, p90 {_number(total['p90'])}; {percent(total['within'])} within "
             f"{percent(WITHIN)} "
             f"(goal {percent(GOALS['within'])}).\n\n")
    header = ("family", "rows", "median", "p10", "p90", f"within {WITHIN:.0%}", "mean error")
    return text + list_table(header, _summary_rows(frame), (30, 10, 12, 12, 12, 14, 14))


def _refusals(refused: Sequence[Refused]) -> str:
    if not refused:
        return ""
    text = "Not written down\n----------------\n\n"
    return text + list_table(("why", "reason", "rows"),
                             [(group, escape(reason), count) for group, reason, count in reasons(refused)],
                             (20, 70, 10))


def _baselines(frame: pd.DataFrame) -> str:
    rows = []
    for label, column in (("this estimate", "ratio"),
                          ("closed form: rooflines with measured ceilings, line rates, bubble", "closed form"),
                          ("roofline: work at the peak rate", "roofline")):
        row = by_family(frame, column).iloc[-1]
        rows.append((label, _number(row["median"]), _number(row["p10"]), _number(row["p90"]), percent(row["within"])))
    text = ("Simpler methods\n---------------\n\n"
            "The closed form has the terms of Megatron-LM's paper (arXiv 2104.04473) and of Calculon: computation, "
            "collectives at the\n"
            "line rate, a bubble of (p - 1)/v micro-batches, nothing beside anything.\n\n")
    return text + list_table(("method", "median", "p10", "p90", f"within {WITHIN:.0%}"), rows, (46, 12, 12, 12, 16))


def _scaling(points: Sequence[Point], image: str) -> str:
    if not points:
        return ""
    text = "Scaling curves\n--------------\n\n" + SHAPE.format(goal=percent(GOALS["shape"]))
    text += f".. image:: {image}\n   :alt: work per GPU and second over the number of GPUs, published and predicted\n\n"
    rows = []
    for curve in CURVES:
        own = [point for point in points if point.curve == curve]
        if own:
            worst = max(own, key=lambda point: abs(point.error))
            rows.append((escape(curve), f"{own[0].gpus:,} to {own[-1].gpus:,}", _number(own[-1].published),
                         _number(own[-1].predicted), f"{signed(worst.error)} at {worst.gpus:,}"))
    return text + list_table(("curve", "GPUs", "published, largest", "predicted", "worst error"), rows,
                             (40, 16, 14, 14, 16))


def _worst(frame: pd.DataFrame) -> str:
    text = "The largest errors\n------------------\n\n"
    rows = frame.reindex((frame["ratio"] - 1).abs().sort_values(ascending=False).index).head(WORST)
    return text + _jobs(rows) + KNOWN


def _tuning(frame: pd.DataFrame, untold: Sequence[Refused]) -> str:
    if not len(frame):
        return ""
    total = summarize(frame["ratio"])
    text = ("Fine-tuning\n-----------\n\nThe same estimate of fine-tuning, whole (SFT) or with adapters (LoRA). No "
            "constant was fitted to these rows, or chosen by "
            f"them. {total['rows']} of {len(frame) + len(untold)} rows are written down; the sources of the others "
            f"say no layout. Median "
            f"{_number(total['median'])}, p10 {_number(total['p10'])}, p90 {_number(total['p90'])}; "
            f"{percent(total['within'])} within "
            f"{percent(WITHIN)}.\n\n")
    return text + _jobs(frame)


def serving(frame: pd.DataFrame, refused: Sequence[Refused]) -> str:
    """@param frame of simulated servers @return the part of the page on them"""
    total = summarize(frame["ratio"])
    text = ("Servers\n-------\n\nPublished output tokens per second and GPU of servers with all requests in their "
            "queue, and the same requests simulated\n"
            "(``lab/outcomes.py --serve``, :doc:`../howto/inference`): measured kernels of each step "
            "(:doc:`kernels`) without an engine's time beside them, TensorRT-LLM's\n"
            "AllReduce in a server (:doc:`nccl`), and other collectives on the simulated machine.\n"
            "No constant was fitted to these rows. Servers run as trtllm-bench runs them: with the source's CUDA "
            "graphs, TensorRT-LLM's default\n"
            "(``guaranteed_no_evict``), 0.9 of the memory beside weights and activations for caches, and its limits "
            "of a step. Its formula of these\n"
            "limits knows no latent caches: 64 sequences of DeepSeek R1 with 1,024 / 8,192 tokens would be served at "
            "half of the published rate, so there the cache\n"
            "alone limits sequences. Keys and values are taken to be 8-bit floats where products have 8 or 4 bits, "
            "which the source\n"
            "says of DeepSeek R1 only, and experts to get equal numbers of tokens. The ratio is simulated over "
            "published rates: median "
            f"{_number(total['median'])}, p10 {_number(total['p10'])}, p90 {_number(total['p90'])}; "
            f"{percent(total['within'])} within {percent(WITHIN)}.\n\n")
    rows = [(row["id"], escape(f"{row['model']}, {row['gpus']} {row['gpu']}, {row['precision']}, TP {row['tp']}, EP "
                               f"{row['ep']}"),
             f"{row['prompt_tokens']:,} / {row['output_tokens']:,}", f"{row['published']:,.0f}",
             f"{row['simulated']:,.0f}", _number(row["ratio"]))
            for _, row in frame.iterrows()]
    text += list_table(("row", "server", "tokens of a prompt / output", "published", "simulated", "ratio"), rows,
                       (8, 40, 22, 10, 10, 10))
    text += LEFT_OUT + "Not written down:\n\n" + "".join(f"- {count} rows: {escape(reason)}.\n" for _, reason,
        count in reasons(refused))
    return text + "\n" + ENGINES


def _jobs(rows: pd.DataFrame) -> str:
    cells = [(row["id"], escape(f"{row['model']}, {row['gpus']} {row['gpu']}, {row['precision']}"), escape(row["plan"]),
              f"{row['published_s']:.3g}", f"{row['predicted_s']:.3g}", _number(row["ratio"])) for _,
             row in rows.iterrows()]
    return list_table(("row", "job", "plan", "published s", "predicted s", "ratio"), cells, (8, 34, 34, 12, 12, 10))


def _fitted_text(constants: Constants) -> str:
    names = {"ampere": "an A100", "hopper": "Hopper", "blackwell": "a B200"}
    shares = ", ".join(f"{getattr(constants, key):.2f} on {name}" for key, name in names.items())
    return (f"{len(constants.__fields__)}. Under the load of training, power lowers clocks, and products keep a share "
            f"of the rate of the tables: "
            f"{shares} (a loop of products on an H100 keeps 0.86, :doc:`kernels`). And a step grows with each "
            f"doubling of GPUs by "
            f"{100 * constants.spread:.1f}%, since it waits for the slowest GPU and message. "
            f"Kernels of PyTorch's own builds on other people's clusters take {constants.others:.2f} of the time of "
            f"NVIDIA's runs, which no table "
            "explains")


def render(frame: pd.DataFrame, written: Sequence[Run], refused: Sequence[Refused], tuned: pd.DataFrame,
           untold: Sequence[Refused], points: Sequence[Point], constants: Constants, images: pathlib.Path) -> str:
    """@param tuned the frame of fine-tuning @param untold Refused rows of it @param images path of the pictures, seen
    from the page @return the page's text"""
    text = INTRODUCTION.replace("@RUNTIME@", f"{len(frame)} rows take about a minute")
    text += _short(frame, written, refused)
    text += f".. image:: {images}/ratios.svg\n   :alt: predicted over published of every row, by family\n\n"
    text += f".. image:: {images}/times.svg\n   :alt: predicted against published step times\n\n"
    text += COMPARED.replace("@FITTED@", _fitted_text(constants))
    text += _baselines(frame) + _scaling(points, f"{images}/scaling.svg")
    text += ("Where the time goes\n-------------------\n\nThe shares of the stage that ends last sum to the step.\n\n"
             f".. image:: {images}/shares.svg\n   :alt: shares of a step by family\n\n")
    text += _worst(frame) + _tuning(tuned, untold) + _refusals(refused)
    text += ("Every row\n---------\n\n:download:`outcomes.csv <../data/outcomes.csv>` has every row with its plan, "
             "both times, the baselines, the "
             "shares and the source.\n")
    return text

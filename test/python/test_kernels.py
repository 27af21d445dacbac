# SPDX-License-Identifier: GPL-2.0-only
"""Times of kernels: from rooflines, from measured tables, and of launches."""
import pathlib
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "python"))

from clustersim.workload import catalogue, gpus, operators  # noqa: E402
from clustersim.workload.errors import InputError  # noqa: E402
from clustersim.workload.kernels import launch  # noqa: E402
from clustersim.workload.model import Model  # noqa: E402
from clustersim.workload.parallel import Parallelism  # noqa: E402

H100 = gpus.find("H100")


def gpt():
    """A GPT of one layer, with eight heads of 128."""
    return Model(name="g", layers=1, hidden=1024, heads=8, kv_heads=8, head_dim=128, ffn=4096, vocabulary=1024, gated=False,
                 norm="layer")


def test_a_layer_of_small_kernels_is_bound_by_what_the_cpu_takes_to_launch_them():
    every = operators.layer(gpt(), Parallelism(world_size=1, sequence=128), 0)
    # Four products, attention, two norms and an activation function.
    assert launch.count(every) == (8, 4 + 3 + 2 * 2 + 1, 4)
    gpu_ns = sum(H100.times_ns(o)[0] for o in every)
    assert launch.bound_ns(gpu_ns, 8, gpu_ns / 4) == 2 * gpu_ns
    assert launch.bound_ns(gpu_ns, 8, gpu_ns / 9) == gpu_ns
    assert launch.bound_ns(gpu_ns, 8, gpu_ns / 4, graphs=True) == gpu_ns


def test_a_precision_that_a_gpu_has_not_is_refused():
    assert gpus.find("H100", "fp8_blockwise").product == gpus.find("H100", "fp8").product
    assert gpus.find("B200", "nvfp4").product[0] == 9000
    for name, precision, message in (("H100", "nvfp4", "H100 has no 4-bit floats; expected --dtype bfloat16 or fp8"),
                                     ("H100", "mxfp8", "H100 has no MXFP8, which came with Blackwell; expected"),
                                     ("A100", "mxfp8", "A100 has no 8-bit floats; expected --dtype bfloat16$")):
        with pytest.raises(InputError, match=message):
            gpus.find(name, precision)


def test_logits_and_routers_stay_in_bfloat16():
    model, plan = catalogue.find("mixtral_8x7b"), Parallelism(world_size=1)
    four = gpus.find("B200", "nvfp4")
    kinds = {o.name: four.precision_of(o) for o in (*operators.layer(model, plan, 0), *operators.head(model, plan))}
    assert kinds["expert_up"] == kinds["qkv"] == "nvfp4"
    assert kinds["router"] == kinds["logits"] == "bfloat16"

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Measures kernels of training on this machine's GPU that published tables lack, with PyTorch: about five minutes.

Columns: group, kernel, variant, pass, shape (key=value, blanks between), us. Inputs are random. Times are medians of
rounds of calls that the GPU does back to back: a kernel that sleeps keeps it busy until the CPU has launched all of
them.
"""
import argparse
import csv
import itertools
import statistics
import time

PARTS = ("attention", "products", "grouped", "launches", "losses", "optimizers", "loads", "layers", "streams")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", metavar="OUTPUT.csv")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"what to measure; default: all of {', '.join(PARTS)}")
    given = parser.parse_args()
    for unknown in set(given.parts) - set(PARTS):
        parser.error(f"unknown part {unknown}; expected some of {', '.join(PARTS)}")
    return given


if __name__ == "__main__":
    GIVEN = arguments()  # --help works without PyTorch and a GPU

import pynvml  # noqa: E402
import torch  # noqa: E402
import torch._dynamo  # noqa: E402
import torch._functorch.config  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

torch._functorch.config.donated_buffer = False  # backward passes are timed again and again
torch._dynamo.config.recompile_limit = 64
pynvml.nvmlInit()
BF16, F32, FP8 = torch.bfloat16, torch.float32, torch.float8_e4m3fn
DEVICE = "cuda"
CYCLES_PER_SECOND = 1.98e9
ROUNDS = 5


def random(*shape, dtype=BF16, grad=False):
    return torch.randn(shape, device=DEVICE, dtype=F32).to(dtype).requires_grad_(grad)


def calls_us(call, count):
    """@return microseconds of the GPU, and of the CPU, of one of `count` calls"""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        call()
    launched = time.perf_counter() - start
    torch.cuda.synchronize()
    torch.cuda._sleep(int(1.3 * launched * CYCLES_PER_SECOND))
    begin.record()
    for _ in range(count):
        call()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) * 1000 / count, launched * 1e6 / count


def gpu_us(call):
    for _ in range(3):
        call()
    first, _ = calls_us(call, 3)
    count = int(min(max(5000 / max(first, 1), 3), 50))
    return statistics.median(calls_us(call, count)[0] for _ in range(ROUNDS))


class Table:
    def __init__(self, path):
        self.file = open(path, "w", newline="", encoding="ascii")
        self.writer = csv.writer(self.file)
        self.writer.writerow(["group", "kernel", "variant", "pass", "shape", "us"])

    def add(self, group, kernel, variant, which, shape, us):
        text = " ".join(f"{key}={value}" for key, value in shape.items())
        self.writer.writerow([group, kernel, variant, which, text, f"{us:.3f}"])
        self.file.flush()

    def both(self, group, kernel, variant, shape, function, inputs):
        """The forward pass of `function(*inputs)`, and the backward pass."""
        try:
            with torch.no_grad():
                forward = gpu_us(lambda: function(*inputs))
            self.add(group, kernel, variant, "forward", shape, forward)
            result = function(*inputs)
            wanted = [i for i in inputs if i.requires_grad]
            incoming = torch.randn_like(result)
            self.add(group, kernel, variant, "backward", shape,
                     gpu_us(lambda: torch.autograd.grad(result, wanted, incoming, retain_graph=True)))
        except Exception as error:  # a kernel that this version lacks must not cost the others
            print(group, kernel, variant, shape, str(error).splitlines()[0][:200], flush=True)
        torch.cuda.empty_cache()


def rms_norm(x, weight):
    return F.rms_norm(x, weight.shape, weight, 1e-5)


def layer_norm(x, weight, bias):
    return F.layer_norm(x, weight.shape, weight, bias, 1e-5)


def swiglu(x):
    gate, up = x.chunk(2, -1)
    return F.silu(gate) * up


def gelu(x):
    return F.gelu(x, approximate="tanh")


def rotary(x, cos, sin):
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


def add(x, y):
    return x + y


def dropout_add(x, y):
    return F.dropout(x, 0.1) + y


def norm_add(x, y, weight):
    return F.rms_norm(x + y, weight.shape, weight, 1e-5)


def loss(logits, targets):
    return F.cross_entropy(logits.float(), targets, reduction="none")


def streams(table):
    source, target = random(1 << 29), random(1 << 29)
    table.add("stream", "copy", "eager", "forward", {"elements": 1 << 29}, gpu_us(lambda: target.copy_(source)))
    del source, target
    for tokens, hidden in ((1024, 4096), (4096, 4096), (8192, 8192), (16384, 8192)):
        x, y, w, b = random(tokens, hidden, grad=True), random(tokens, hidden,
            grad=True), *(random(hidden, grad=True) for _ in "wb")
        wide = random(tokens, 2 * hidden, grad=True)
        heads, cos = random(tokens, hidden // 128, 128, grad=True), random(tokens, 1, 128)
        for kernel, function, inputs in (("rms_norm", rms_norm, (x, w)), ("layer_norm", layer_norm, (x, w, b)),
                                         ("gelu", gelu, (x,)),
                                         ("swiglu", swiglu, (wide,)), ("rotary", rotary, (heads, cos, cos)),
                                         ("add", add, (x, y)),
                                         ("dropout_add", dropout_add, (x, y)), ("norm_add", norm_add, (x, y, w))):
            shape = {"tokens": tokens, "width": hidden}
            table.both("stream", kernel, "eager", shape, function, inputs)
            if tokens == 8192:
                table.both("stream", kernel, "compiled", shape, torch.compile(function, dynamic=False), inputs)


def losses(table):
    for tokens, words in ((8192, 32000), (4096, 128256), (8192, 16032)):
        logits, targets = random(tokens, words, grad=True), torch.randint(words, (tokens,), device=DEVICE)
        for variant, function in (("eager", loss), ("compiled", torch.compile(loss, dynamic=False))):
            table.both("loss", "cross_entropy", variant, {"tokens": tokens, "words": words}, function,
                       (logits, targets))
    for tokens, words, hidden in ((8192, 32000, 4096), (8192, 128256, 4096), (8192, 16032, 8192)):
        targets, weight = torch.randint(words, (tokens,), device=DEVICE), random(words, hidden, grad=True)
        table.both("loss", "embedding", "eager", {"tokens": tokens, "words": words, "width": hidden},
                   lambda t, w: F.embedding(t, w), (targets, weight))


def optimizers(table):
    for size in (1 << 24, 1 << 28):
        weights = [torch.nn.Parameter(random(size // 16, dtype=F32)) for _ in range(16)]
        for weight in weights:
            weight.grad = random(size // 16, dtype=F32)
        adam = torch.optim.AdamW(weights, fused=True)
        table.add("optimizer", "adam", "fused", "forward", {"parameters": size}, gpu_us(adam.step))
        gradients = [weight.grad for weight in weights]
        table.add("optimizer", "norm", "foreach", "forward", {"parameters": size},
                  gpu_us(lambda: torch._foreach_norm(gradients)))
        half = [random(size // 16) for _ in range(16)]
        table.add("optimizer", "to_bfloat16", "foreach", "forward", {"parameters": size},
                  gpu_us(lambda: torch._foreach_copy_(half, weights)))
        del weights, adam, gradients, half
        torch.cuda.empty_cache()


def attention(table):
    cases = [(seq, 32, kv, dim, dim) for seq in (2048, 4096, 8192, 16384) for kv,
             dim in ((32, 64), (32, 96), (32, 128), (8, 128))]
    cases += [(8192, heads, max(heads // 4, 1), 128, 128) for heads in (1, 4, 8, 16, 64)]
    cases += [(1024, 32, 32, 128, 128), (512, 32, 32, 128, 128), (4096, 16, 16, 192, 128), (4096, 128, 128, 192, 128),
              (4096, 32, 8, 256, 256)]
    for (seq, heads, kv, dim, value), (name, backend) in itertools.product(
            cases, (("flash", SDPBackend.FLASH_ATTENTION), ("cudnn", SDPBackend.CUDNN_ATTENTION))):
        batch = max(16384 // seq, 1)
        q, k, v = random(batch, heads, seq, dim, grad=True), random(batch, kv, seq, dim, grad=True), random(batch, kv,
            seq, value, grad=True)

        def call(q, k, v):
            with sdpa_kernel(backend):
                return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=kv != heads)
        shape = {"sequences": batch, "tokens": seq, "heads": heads, "kv_heads": kv, "head_dim": dim, "value_dim": value}
        table.both("attention", "causal", name, shape, call, (q, k, v))


PRODUCTS = ((8192, 6144, 4096), (8192, 4096, 4096), (8192, 28672, 4096), (8192, 4096, 14336), (8192, 1280, 8192),
            (8192, 8192, 1024),
            (8192, 7168, 8192), (8192, 8192, 3584), (4096, 2560, 8192), (2048, 4608, 12288), (2048, 12288, 6144),
            (4096, 8192, 8192),
            (8192, 8192, 8192), (1024, 4096, 4096), (512, 8192, 8192), (8192, 16032, 8192), (16384, 2048, 7168),
            (8192, 128256, 4096))


def products(table):
    for m, n, k in PRODUCTS:
        x, w, dy, total = random(m, k), random(n, k), random(m, n), random(n, k, dtype=F32)
        shape, add_ = {"m": m, "n": n, "k": k}, lambda which, variant, call: table.add("product", "linear", variant,
            which, shape, gpu_us(call))
        add_("forward", "bfloat16", lambda: x @ w.t())
        add_("input_gradient", "bfloat16", lambda: dy @ w)
        add_("weight_gradient", "bfloat16", lambda: dy.t() @ x)
        try:
            add_("weight_gradient", "bfloat16 to float32", lambda: torch.mm(dy.t(), x, out_dtype=F32))
            add_("weight_gradient", "bfloat16 added to float32",
                 lambda: torch.addmm(total, dy.t(), x, out_dtype=F32, out=total))
        except Exception as error:
            print("wgrad", str(error).splitlines()[0][:200], flush=True)
        one = torch.ones((), device=DEVICE)
        for fast in (True, False):
            x8, w8 = x.to(FP8), w.to(FP8)
            add_("forward", f"fp8{' fast sums' if fast else ''}",
                 lambda: torch._scaled_mm(x8, w8.t(), one, one, out_dtype=BF16, use_fast_accum=fast))
        torch.cuda.empty_cache()


def grouped(table):
    for experts, tokens, n, k in itertools.product((8, 32), (64, 128, 256, 512, 1024, 2048), (4096,), (7168, 2048)):
        x, w, dy = random(experts * tokens, k), random(experts, n, k), random(experts * tokens, n)
        ends = torch.arange(1, experts + 1, device=DEVICE, dtype=torch.int32) * tokens
        shape = {"experts": experts, "m": tokens, "n": n, "k": k}
        try:
            for which, call in (("forward", lambda: torch._grouped_mm(x, w.transpose(1, 2), offs=ends)),
                                ("input_gradient", lambda: torch._grouped_mm(dy, w, offs=ends)),
                                ("weight_gradient", lambda: torch._grouped_mm(dy.t(), x, offs=ends))):
                table.add("grouped", "linear", "bfloat16", which, shape, gpu_us(call))
        except Exception as error:
            print("grouped", shape, str(error).splitlines()[0][:200], flush=True)
        del x, w, dy
        torch.cuda.empty_cache()


def launches(table):
    small, weight = random(64, 256), random(256, 256)
    x, w = random(64, 256, grad=True), random(256, 256, grad=True)

    def cpu_us(call):
        for _ in range(20):
            call()
        return statistics.median(calls_us(call, 300)[1] for _ in range(ROUNDS))
    cases = {"add": lambda: small + small, "linear": lambda: F.linear(small, weight),
             "norm": lambda: F.layer_norm(small, (256,)), "gelu": lambda: F.gelu(small)}
    for kernel, call in cases.items():
        with torch.no_grad():
            table.add("launch", kernel, "eager", "forward", {}, cpu_us(call))
    table.add("launch", "linear", "autograd", "forward", {}, cpu_us(lambda: F.linear(x, w)))
    result, incoming = F.linear(x, w), random(64, 256)
    table.add("launch", "linear", "autograd", "backward", {},
              cpu_us(lambda: torch.autograd.grad(result, [x, w], incoming, retain_graph=True)))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = small
        for _ in range(200):
            y = y + small
    table.add("launch", "add", "graph of 200", "forward", {}, gpu_us(graph.replay) / 200)
    table.add("launch", "add", "graph of 200, CPU", "forward", {}, cpu_us(graph.replay) / 200)


def state():
    """@return MHz of the SMs, and watts"""
    gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
    return (
        f"{pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_SM)} MHz"
        f" {pynvml.nvmlDeviceGetPowerUsage(gpu) // 1000} W"
    )


def sustained(table, name, shape, call, seconds):
    """Times of a second each, the first of a twentieth, after two idle seconds; with the clock."""
    one = gpu_us(call)
    time.sleep(2)
    for second in range(seconds):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        count = max(int((1e6 if second else 5e4) / one), 1)
        found = ""
        begin.record()
        for _ in range(count):
            call()
        end.record()
        while not end.query():
            found = state()
            time.sleep(0.01)
        table.add("sustained", name, found, "forward", {**shape, "second": second},
                  begin.elapsed_time(end) * 1000 / count)


class Layer(torch.nn.Module):
    """A transformer's layer as the ranks of a tensor-parallel group have it, without their collectives."""

    def __init__(self, hidden, heads, kv, dim, ffn, gated):
        super().__init__()
        def weight(*size):
            return torch.nn.Parameter(0.02 * random(*size))
        self.heads, self.kv, self.dim, self.gated = heads, kv, dim, gated
        self.norms = torch.nn.ParameterList([weight(hidden), weight(hidden)])
        self.qkv, self.out = weight((heads + 2 * kv) * dim, hidden), weight(hidden, heads * dim)
        self.up, self.down = weight((2 if gated else 1) * ffn, hidden), weight(hidden, ffn)

    def forward(self, x, cos):
        batch, tokens, _ = x.shape
        y = F.linear(rms_norm(x, self.norms[0]), self.qkv).view(batch, tokens, -1, self.dim)
        q, k, v = y.split((self.heads, self.kv, self.kv), 2)
        q, k = rotary(q, cos, cos), rotary(k, cos, cos)
        with sdpa_kernel([SDPBackend.CUDNN_ATTENTION]):
            y = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True,
                                               enable_gqa=self.heads != self.kv)
        x = x + F.linear(y.transpose(1, 2).reshape(batch, tokens, -1), self.out)
        y = F.linear(rms_norm(x, self.norms[1]), self.up)
        return x + F.linear(swiglu(y) if self.gated else gelu(y), self.down)


LAYERS = {"llama3_8b": (1, 8192, 4096, 32, 8, 128, 14336, True),
          "llama3_70b of TP 8": (1, 8192, 8192, 8, 1, 128, 3584, True),
          "llama3_70b of TP 2": (1, 4096, 8192, 32, 4, 128, 14336, True),
          "gpt_175b of TP 8": (1, 2048, 12288, 12, 12, 128, 6144, False),
          "small": (4, 1024, 1024, 16, 16, 64, 4096, False)}


def layers(table):
    for name, (batch, tokens, hidden, heads, kv, dim, ffn, gated) in LAYERS.items():
        x, cos = random(batch, tokens, hidden, grad=True), random(1, tokens, 1, dim)
        layer = Layer(hidden, heads, kv, dim, ffn, gated)
        shape = dict(sequences=batch, tokens=tokens, hidden=hidden, heads=heads, kv_heads=kv, head_dim=dim, ffn=ffn,
                     gated=int(gated))
        inputs = (x, cos, *layer.parameters())
        for variant, module in (("eager", layer), ("compiled", torch.compile(layer, dynamic=False))):
            table.both("layer", name, variant, shape, lambda x, cos, *_: module(x, cos), inputs)
        if "8b" in name or "TP 8" in name:
            incoming = random(batch, tokens, hidden)

            def both():
                module(x, cos).backward(incoming)
            sustained(table, name, shape, both, 6)
        del x, layer, module, inputs
        torch.cuda.empty_cache()


def loads(table):
    """Seconds under load: the power limit lowers the clock of products."""
    for (m, n, k), seconds in (((8192, 8192, 8192), 20), ((4096, 4096, 4096), 5), ((8192, 28672, 4096), 5)):
        x, w, one = random(m, k), random(n, k), torch.ones((), device=DEVICE)
        x8, w8 = x.to(FP8), w.to(FP8)
        sustained(table, "linear", {"m": m, "n": n, "k": k}, lambda: x @ w.t(), seconds)
        sustained(table, "linear fp8", {"m": m, "n": n, "k": k},
                  lambda: torch._scaled_mm(x8, w8.t(), one, one, out_dtype=BF16), 5)
    q, k, v = (random(1, heads, 8192, 128, grad=True) for heads in (32, 8, 8))
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        def call():
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        result = call()
        incoming, shape = torch.randn_like(result), dict(sequences=1, tokens=8192, heads=32, kv_heads=8, head_dim=128)
        sustained(table, "attention", shape, call, 5)
        sustained(table, "attention backward", shape,
                  lambda: torch.autograd.grad(result, (q, k, v), incoming, retain_graph=True), 5)
    source, target = random(1 << 28), random(1 << 28)
    sustained(table, "copy", {"elements": 1 << 28}, lambda: target.copy_(source), 5)


def main(output, parts):
    torch.manual_seed(1)
    table = Table(output)
    print(torch.cuda.get_device_name(), torch.__version__, state(), flush=True)
    for part in parts or PARTS:
        start = time.perf_counter()
        try:
            globals()[part](table)
        except Exception as error:
            print(part, "stopped:", str(error).splitlines()[0][:300], flush=True)
        print(part, f"{time.perf_counter() - start:.1f} s", state(), flush=True)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main(GIVEN.output, GIVEN.parts)

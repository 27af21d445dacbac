# SPDX-License-Identifier: GPL-2.0-only
"""Writes rows as Chakra execution traces, a file for each rank.

Every stage has its own rows here. A trace's times are whole microseconds: they are rounded so that the sum stays right.
"""
import functools
import importlib
import json
import pathlib
import subprocess
import sys
import tempfile
import types
from collections.abc import Sequence
from typing import Any, TYPE_CHECKING

from clustersim.errors import InputError
from clustersim.whole_file import whole_file
from clustersim.workload.training import schedule
from clustersim.workload.write import layout

if TYPE_CHECKING:
    from clustersim.workload.training.megatron import Iteration
    from clustersim.workload.training.schedule import Program
    from clustersim.workload.training.schedule import Step

OPERATIONS = {"ALLREDUCE": 0, "ALLGATHER": 2, "BROADCAST": 5, "ALLTOALL": 6, "REDUCESCATTER": 7}
KINDS = ("TP", "DP", "EP", "CP", "DP_EP", "PP", "DP_COPIES")


@functools.lru_cache(None)
def messages() -> types.ModuleType:
    """@return the module that protoc makes of chakra.proto, which the simulator is built from, too"""
    proto = pathlib.Path(__file__).with_name("chakra.proto")
    with tempfile.TemporaryDirectory() as directory:
        try:
            subprocess.run(["protoc", f"-I{proto.parent}", f"--python_out={directory}", proto.name], check=True,
                           capture_output=True, text=True)
            sys.path.insert(0, directory)
            return importlib.import_module("chakra_pb2")
        except FileNotFoundError:
            raise InputError("there is no protoc; expected Debian's protobuf-compiler") from None
        except subprocess.CalledProcessError as error:
            raise InputError(f"protoc: {error.stderr.strip()}; expected to read {proto}") from None
        except ImportError:
            raise InputError(
                f"{sys.executable} has no module google.protobuf; expected Debian's python3-protobuf"
            ) from None
        finally:
            if directory in sys.path:
                sys.path.remove(directory)


def varint(value: int) -> bytes:
    """@return a number as protobuf writes it"""
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(data) + bytes([value])


class _Trace:
    """The nodes of one rank. Nodes that block are a chain; the rest hangs on it."""

    def __init__(self, iteration: "Iteration", program: "Program", rank: int) -> None:
        self.iteration, self.plan, self.rank = iteration, iteration.plan, rank
        self.proto = messages()
        self.data = [self._delimited(self.proto.GlobalMetadata(version="0.0.4"))]
        self.next_id = 0
        self.last: int | None = None
        self.beside: list[int] = []
        self.issued: list[int] = []  # collectives that the next join waits for
        self.joined: list[int] = []  # those that the next node waits for
        self.written_us, self.due_ns = 0, 0.0
        self._groups(program)
        for step in program.steps:
            getattr(self, "_" + step.kind)(step)

    @staticmethod
    def _delimited(message: Any) -> bytes:
        data = message.SerializeToString()
        return varint(len(data)) + data

    def _node(self, name: str, kind: str, after: Sequence[int], blocks: bool = True, inputs: str | None = None,
              microseconds: int = 0, **attributes: bool | str | int) -> int:
        node = self.proto.Node(id=self.next_id, name=name, type=getattr(self.proto, kind), duration_micros=microseconds)
        node.data_deps.extend(after)
        if inputs:
            node.inputs.values = inputs
        for key, value in attributes.items():
            if isinstance(value, bool):
                node.attr.add(name=key, bool_val=value)
            elif isinstance(value, str):
                node.attr.add(name=key, string_val=value)
            else:
                node.attr.add(name=key, int64_val=value)
        self.data.append(self._delimited(node))
        self.next_id += 1
        if blocks:
            self.last, self.joined = node.id, []
        return node.id

    def _before(self) -> list[int]:
        """@return the nodes that the next one follows"""
        return [*([] if self.last is None else [self.last]), *self.joined]

    def _groups(self, program: "Program") -> None:
        used = {step.collective.group for step in program.steps if step.kind in ("blocking", "beside", "issue")}
        table = []
        for kind in KINDS:
            if kind in used and layout.size_of(self.plan, kind) > 1:
                number, ranks = layout.group_of(self.plan, kind, self.rank)
                table.append({"pg_name": f"{kind}{number}", "ranks": ranks})
        if table:
            self._node("process groups", "METADATA_NODE", [], inputs=json.dumps(table))

    def _compute(self, step: "Step", after: Sequence[int] | None = None) -> None:
        self.due_ns += step.ns
        microseconds = round(self.due_ns / 1000) - self.written_us
        if microseconds > 0 or after is not None:
            self.written_us += microseconds
            self._node(step.name, "COMP_NODE", self._before() if after is None else after, microseconds=microseconds,
                       is_cpu_op=False)

    def _collective(self, step: "Step", blocks: bool) -> None:
        collective = step.collective
        size = layout.size_of(self.plan, collective.group)
        if size < 2:
            return
        brought = collective.bytes // size if collective.op == "ALLGATHER" else collective.bytes
        name = f"{collective.group}{layout.group_of(self.plan, collective.group, self.rank)[0]}"
        number = self._node(f"{collective.op} {step.name}", "COMM_COLL_NODE", self._before(), blocks, is_cpu_op=False,
                            comm_type=OPERATIONS[collective.op], comm_size=brought, pg_name=name)
        if not blocks:
            (self.issued if step.kind == "issue" else self.beside).append(number)

    def _blocking(self, step: "Step") -> None:
        self._collective(step, True)

    def _beside(self, step: "Step") -> None:
        self._collective(step, False)

    def _issue(self, step: "Step") -> None:
        self._collective(step, False)

    def _join(self, step: "Step") -> None:
        self.joined, self.issued = self.joined + self.issued, []

    def _optimizer(self, step: "Step") -> None:
        """The step needs all gradients; what it updates is gathered after it."""
        self._compute(step, [*self._before(), *self.beside])

    def _message(self, step: "Step", kind: str, blocks: bool, bytes_: int, **peer: int) -> None:
        micro_batch, sender, forward = step.message
        tag = (micro_batch * self.plan.pp * self.plan.virtual + sender) * 2 + forward
        self._node(step.name, kind, self._before(), blocks, None, 0, is_cpu_op=False, comm_size=bytes_, comm_tag=tag,
                   **peer)

    def _same_place(self, stage: int) -> int:
        in_stage = self.plan.world_size // self.plan.pp
        return stage * in_stage + self.rank % in_stage

    def _send(self, step: "Step") -> None:
        self._message(step, "COMM_SEND_NODE", False, self.iteration.pipeline_bytes, comm_src=self.rank,
                      comm_dst=self._same_place(step.peer))

    def _receive(self, step: "Step") -> None:
        self._message(step, "COMM_RECV_NODE", True, self.iteration.pipeline_bytes, comm_src=self._same_place(step.peer),
                      comm_dst=self.rank)

    def _send_tied(self, step: "Step") -> None:
        self._message(step, "COMM_SEND_NODE", False, self.iteration.tied_bytes, comm_src=self.rank,
                      comm_dst=self._same_place(step.peer))

    def _receive_tied(self, step: "Step") -> None:
        self._message(step, "COMM_RECV_NODE", True, self.iteration.tied_bytes, comm_src=self._same_place(step.peer),
                      comm_dst=self.rank)


def write(iteration: "Iteration", prefix: pathlib.Path) -> None:
    """Writes `prefix`.<rank>.et for every rank"""
    plan = iteration.plan
    in_stage = plan.world_size // plan.pp
    for stage in range(plan.pp):
        program = schedule.Program(iteration, stage)
        for rank in range(stage * in_stage, (stage + 1) * in_stage):
            with whole_file(f"{prefix}.{rank}.et") as part:
                part.write_bytes(b"".join(_Trace(iteration, program, rank).data))

# SPDX-License-Identifier: GPL-2.0-only
"""A row of a workload: what a rank computes in each of three passes, and the collective after it."""
import dataclasses
from typing import Optional


@dataclasses.dataclass(frozen=True)
class Collective:
    """Bytes are as nccl-tests counts them: for AllGather and ReduceScatter the whole buffer, for AllToAll what a rank
    sends."""
    op: str = "NONE"
    group: str = "TP"
    bytes: int = 0


NOTHING = Collective()


@dataclasses.dataclass
class Row:
    """Times are nanoseconds. Forward and input-gradient collectives block; that of the weight gradient does not."""
    name: str
    forward_ns: float = 0.0
    forward: Collective = NOTHING
    input_ns: float = 0.0
    input: Collective = NOTHING
    weight_ns: float = 0.0
    weight: Collective = NOTHING
    update_ns: float = 0.0  # after the weight gradient's collective
    layer: Optional[int] = None  # of the model
    gathers: int = 0  # weights that the forward collective gathers, with ZeRO-3
    forward_rows: int = 0  # 0: the forward collective blocks; N: the Nth row from here waits for it before it computes
    input_rows: int = -1  # the same backward, of earlier rows; 0: the row's own weight gradient runs beside, -1: blocks
    again: int = 0  # rows before this one whose forward pass is carried out again before its backward pass

    def of_layer(self, number: int) -> "Row":
        return dataclasses.replace(self, name=f"{self.name}_{number}", layer=number)

    @property
    def compute_ns(self) -> float:
        """Nanoseconds of all passes"""
        return self.forward_ns + self.input_ns + self.weight_ns

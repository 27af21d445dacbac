# SPDX-License-Identifier: GPL-2.0-only
"""Times of plans on a topology whose switches carry up less than comes into them from below."""
import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

from clustersim.workload.contention.demand import Contention
from clustersim.workload.estimate import estimate
from clustersim.workload.estimate.collective_times import PIPELINE, Machine
from clustersim.workload.planning import search

if TYPE_CHECKING:
    from clustersim.workload.estimate.plans import Candidate
    from clustersim.workload.training.megatron import Iteration


@dataclasses.dataclass(frozen=True)
class Contended:
    """Times plans by SimAI_analytical, but those whose groups meet on uplinks by an estimate. It has the same times of
    collectives, and adds what the others of their kind take from the uplinks."""
    analytical: search.Analytical
    machine: Machine  # of the topology
    contention: Contention
    hidden: Mapping[str, float]  # shares of the times of TP, DP, EP and PP that nothing waits for

    def time(self, candidate: "Candidate", name: str) -> search.Timed:
        """@return the plan's time"""
        if not self._meet(candidate.iteration):
            return self.analytical.time(candidate, name)
        gradients = [(group, self.hidden["DP"]) for group in ("DP_EP", "DP_COPIES") if "DP" in self.hidden]
        machine = dataclasses.replace(self.machine, contention=self.contention,
                                      hidden=(*self.hidden.items(), *gradients))
        return search.Estimated(machine, None).time(candidate, name)

    def _meet(self, iteration: "Iteration") -> bool:
        """@return whether groups of a kind take longer together"""
        asked = {(each, each.bytes) for each in estimate.collectives(iteration, None)}
        asked |= {(PIPELINE, iteration.pipeline_bytes)} if "PP" in self.hidden else set()
        return any(self.contention.extra_ns(iteration.plan, each, size) for each, size in asked)

# SPDX-License-Identifier: GPL-2.0-only
"""The commands as functions: workloads, plans, servings and explanations.

    import clustersim
    fabric = clustersim.topology("Clos2", gpu=16, output="results/")
    job = clustersim.workload("mixtral_8x7b", world_size=16, tp=2, ep=4, sp=True, num_layers=4, output_dir="results")
    run = clustersim.simulate(job, fabric, output="results/run", network="flow")
    clustersim.why(run)

Arguments have the names of the commands' flags; a function parses them as its command does, so that it refuses what the
command refuses, in the same words.
"""

# SPDX-License-Identifier: GPL-2.0-only
"""A small run directory, written by hand in the formats of the simulator, for tests of readers."""
import json

# Two servers of two GPUs (0-3), NVSwitches 4 and 5, one switch 6.
TOPOLOGY = """7 2 2 1 8 H100
4 5 6 
0 4 800Gbps 0.000025ms 0
0 6 100Gbps 0.0005ms 0
1 4 800Gbps 0.000025ms 0
1 6 100Gbps 0.0005ms 0
2 5 800Gbps 0.000025ms 0
2 6 100Gbps 0.0005ms 0
3 5 800Gbps 0.000025ms 0
3 6 100Gbps 0.0005ms 0
"""
FCT = """0b000001 0b000101 10000 100 1000 0 1000 500
0b000001 0b000201 10001 100 1000000 0 200000 100000
0b000101 0b000301 10000 100 1000000 100 300000 100000
0b000301 0b000101 10000 100 5000000 500 400000 400000
"""
PFC = """1000 0 0 2 1
3000 6 1 3 1
4000 0 0 2 0
9000 0 0 2 1
9500 0 0 2 0
"""
# GPU 1 pauses switch 6, which pauses GPU 0 and GPU 2.
PAUSES = """node,port,priority,paused_by,pauses,paused_ns,longest_ns,storms
0,2,3,6,2,3500.000,3000.000,0
2,2,3,6,1,1000.000,1000.000,0
6,2,3,1,5,20000.000,12000.000,1
"""
QLEN = """time, sw_id, port_id, q_id, q_len, port_len
0, 6, 1, 3, 1000, 3000
0, 6, 1, 4, 2000, 3000
100000, 6, 1, 3, 8000, 8000
"""
BANDWIDTH = """time, node_id, port_id, bandwidth
100000, 0, 2, 99.500000
100000, 6, 1, 50.250000
"""
RATE = """time, src, dst, sport, dport, size, curr_rate, qpn
100000, 0, 2, 10001, 100, 1000000, 100.000000, 4
200000, 0, 2, 10001, 100, 1000000, 50.000000, 4
"""
CNP = """time, src, dst, sport, dport, size, cnp_number, qpn
200000, 0, 2, 10001, 100, 1000000, 7, 4
"""
REORDERING = """src,dst,sport,dport,qpn,priority,out_of_order_packets,reorder_bytes
0,2,10001,100,4,3,12,9000
2,0,10002,100,5,3,1,1000
"""
END_TO_END = """File name, Expose DP comm, Expose DP_EP comm, Expose TP comm, Expose_EP_comm, Expose_PP_comm, Expose_CP_comm, Expose_other_comm, bubble time, total comp, total exposed comm, Total time
job,100.000000 (25.00%),0.000000 (0.00%),40.000000 (10.00%),0.000000 (0.00%),0.000000 (0.00%),0.000000 (0.00%),0.000000 (0.00%),0.000000 (0.00%),260.000000 (65.00%),140.000000 (35.00%),400.000000
layer_name,job,fwd compute,wg compute,ig compute,fwd exposed comm,wg exposed comm,ig exposed comm,fwd total comm,algbw,busbw,wg total comm,algbw,busbw,ig total comm,algbw,busbw,workload finished at
first,job,100.000000,60.000000,0.000000,40.000000,,,40.000000,25.000000,37.500000,,,,,,,150.000000
last,job,100.000000,0.000000,0.000000,,100.000000,,,,,100.000000,10.000000,10.000000,,,,400.000000
SUM,job,200.000000,60.000000,0.000000,40.000000,100.000000,,40.000000,25.000000,37.500000,100.000000,10.000000,10.000000,,,,400.000000
total exposed comm,140.000000,total comp,260.000000,total time,400.000000
"""
COLLECTIVES = """id,layer,pass,phase,group,ranks,op,bytes,algorithm,protocol,channels,start_ns,end_ns,algbw,busbw,flows
1,first,0,fwd,TP0,2,AllReduce,1000000,Ring,Simple,2,100000.000,140000.000,25.000000,25.000000,8
2,first,0,fwd,TP1,2,AllReduce,1000000,Ring,Simple,2,100000.000,150000.000,20.000000,20.000000,8
3,last,0,wg,DP0,2,AllReduce,1000000,Ring,Simple,2,300000.000,400000.000,10.000000,10.000000,8
"""
LINKS = """node,port,peer,rate_bps,tx_bytes,busy_ns,pause_ns,drops
0,1,4,800000000000,1000,10.000,0.000,0
0,2,6,100000000000,1000000,80000.000,3500.000,0
1,2,6,100000000000,1000000,80000.000,0.000,0
6,1,0,100000000000,64000,5120.000,0.000,0
6,2,1,100000000000,5000000,390000.000,0.000,3
"""
REQUESTS = """request,arrival_us,prefill_instance,decode_instance,prompt_tokens,bytes,transfer_start_us,transfer_end_us,transfer_us
0,1.000000,0,0,512,1000000,2.000000,12.000000,10.000000
1,3.000000,1,0,1024,2000000,4.000000,34.000000,30.000000
p50,,,,,,,,10.000000
p100,,,,,,,,30.000000
"""
TIMELINE = """[
{"ph":"X","pid":0,"tid":0,"name":"first","cat":"compute","ts":0.000000,"dur":100.000000,"args":{"phase":"fwd","pass":0}},
{"ph":"X","pid":0,"tid":1,"name":"exposed communication","cat":"wait","ts":100.000000,"dur":40.000000,"args":{"layer":"first","group":"TP"}}
]
"""
FILES = {"fct.txt": FCT, "pfc.txt": PFC, "pauses.csv": PAUSES, "reordering.csv": REORDERING,
         "queue.txt": QLEN, "bandwidth.txt": BANDWIDTH,
         "rate.txt": RATE,
         "cnp.txt": CNP, "EndToEnd.csv": END_TO_END, "collectives.csv": COLLECTIVES, "links.csv": LINKS,
         "requests.csv": REQUESTS, "memory.csv": "time_ns,rank,bytes\n1.000,0,64\n2.000,0,0\n",
         "timeline.json": TIMELINE, "topology": TOPOLOGY}


def run_json(**changes):
    """@return run.json of a finished run, with changed entries"""
    info = {"status": "finished", "version": "0.1.0",
            "inputs": [{"role": "workload", "path": "job.txt", "sha256": ""},
                       {"role": "topology", "path": "topology", "sha256": ""}],
            "options": {"CC_MODE": "1", "MON_START": "0", "MON_END": "20000", "QLEN_MON_INTERVAL": "100",
                        "FCT_OUTPUT_FILE": "fct.txt"},
            "wall_s": 0.5, "peak_memory_bytes": 30000000, "topology": "topology", "seed": 1,
            "simulated_ns": 400000.0, "events": 1000, "packets": 700, "packet_hops": 900, "drops": 3,
            "pauses": 3, "paused_ns": 3500.0}
    return json.dumps(info | changes, indent=2) + "\n"


def write(directory, **changes):
    """Writes the run directory. @param changes of run.json @return the directory"""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        (directory / name).write_text(text)
    (directory / "run.json").write_text(run_json(**changes))
    return directory

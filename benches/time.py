"""Time rows of `step TAB program TAB shell command` in turn, ours first in each step, and print one JSON object a
row: median CPU and wall seconds of whole processes, peak memory, and both times as multiples of ours.

A command that cannot run is a row that says so.
usage: time.py [ROUNDS] <rows
"""
import json, os, resource, statistics, subprocess, sys, time
rows = [line.rstrip("\n").split("\t") for line in sys.stdin]
seen = {tuple(row[:2]): [] for row in rows}
rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
failed = {}
for _ in range(1 + rounds):
    for step, program, command in rows:
        if (step, program) in failed:
            continue
        start = time.monotonic()
        child = subprocess.Popen(["bash", "-c", command])
        _, status, usage = os.wait4(child.pid, 0)
        if status:
            failed[step, program] = os.waitstatus_to_exitcode(status)
            continue
        seen[step, program].append((usage.ru_utime + usage.ru_stime, time.monotonic() - start, usage.ru_maxrss))
ours = {}
for step, program, command in rows:
    if (step, program) in failed:
        print(json.dumps({"step": step, "program": program, "failed": failed[step, program]}))
        continue
    cpu, wall, peak = (statistics.median(column) for column in zip(*seen[step, program][1:]))
    ours.setdefault(step, (cpu, wall))
    print(json.dumps({"step": step, "program": program, "cpu_s": round(cpu, 4), "wall_s": round(wall, 4), "peak_mib": round(peak / 1024, 1),
                      "cpu_x": round(cpu / ours[step][0], 2), "wall_x": round(wall / ours[step][1], 2)}))

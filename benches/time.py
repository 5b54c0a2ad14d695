"""Time rows of `step TAB program TAB shell command [TAB count]` in turn, ours first in each step, and print one JSON
object a row: median CPU and wall seconds of whole processes, peak memory, and both times as multiples of ours.

A command that begins with `exec` is measured by itself, each of so many runs; of another one the times are those of
the whole and the peak is that of what it runs by `exec`. A command that cannot run is a row that says so.
usage: time.py [ROUNDS] <rows
"""
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

rows = [(line.rstrip("\n").split("\t") + ["1"])[:4] for line in sys.stdin]
rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
place = tempfile.TemporaryDirectory()
run, took = place.name + "/run", pathlib.Path(place.name, "took")
subprocess.run(["cc", "-O2", "-static", "-o", run, pathlib.Path(__file__).with_name("run.c")], check=True)


def measured(command, count):
    took.write_text("0 0 0")
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(["bash", "-o", "pipefail", "-c", command.replace("exec ", f"exec {run} {took} {count} ")], check=True)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    alone = [float(number) for number in took.read_text().split()]
    if not command.startswith("exec "):
        return cpu, wall, alone[2]
    return alone[0] / int(count), alone[1] / int(count), alone[2]


seen = {tuple(row[:2]): [] for row in rows}
failed = {}
for _ in range(1 + rounds):
    for step, program, command, count in rows:
        if (step, program) not in failed:
            try:
                seen[step, program].append(measured(command, count))
            except subprocess.CalledProcessError as error:
                failed[step, program] = error.returncode
ours = {}
for step, program, *_ in rows:
    row = {"step": step, "program": program}
    if (step, program) in failed:
        row["failed"] = failed[step, program]
    else:
        cpu, wall, peak = (statistics.median(column) for column in zip(*seen[step, program][1:]))
        first = ours.setdefault(step, (cpu, wall))
        row |= {"cpu_s": round(cpu, 5), "wall_s": round(wall, 5), "peak_mib": round(peak / 1024, 1) or None}
        row |= {"cpu_x": round(cpu / first[0], 2), "wall_x": round(wall / first[1], 2)}
    print(json.dumps(row), flush=True)

"""Areas of a program's calls put into device memory, and the settings that matter there. The program stays the same in all else: without
a driver the interpreter has these areas on the heap."""
import random as random_numbers

from bursts import put_bursts_into
from reductions import FORMS
from smaller import CHUNKS, DEVICE, teams_of

WHOLE, PART, UNSHAREABLE, MANAGED = range(DEVICE + 1, CHUNKS)  # They are of areas.h.
PLAIN = [DEVICE, DEVICE, DEVICE, PART, PART, WHOLE, CHUNKS]
ANY = PLAIN + [UNSHAREABLE, UNSHAREABLE, MANAGED, MANAGED]
# ipc_resident_push is left out: a persistent call for which it is asked fails where it cannot be planned, instead of
# going by host memory.
SETTINGS = {  # They are as in generate.py.
    "CROSSRAIL_ALLTOALL": ("-", ["packet", "ll128", "ipc_kernel_push", "ipc_kernel_pull", "ipc_copy_push", "ipc_copy_pull", "hybrid~ipc_threshold=64~memcpy_threshold=256",
                                 "pairwise"]),
    "CROSSRAIL_ALLTOALLV": ("-", ["ipc_push", "ipc_push~memcpy_threshold=100", "pairwise"]),
    "CROSSRAIL_ALLREDUCE": ("-", ["ll_one_shot", "ll128_one_shot", "two_shot_pull", "two_shot_pull~halves=64", "multi_lane", "multi_lane~part=1K", "multi_lane~part=1K~circling=0"]),
    "CROSSRAIL_ALLGATHER": ("-", ["ipc_push", "ipc_push~memcpy_threshold=100"]),
    "CROSSRAIL_ALLGATHERV": ("-", ["ipc_push", "ipc_push~memcpy_threshold=100"]),
    "CROSSRAIL_REDUCE_SCATTER": ("-", ["ipc_pull"]),
    "CROSSRAIL_REDUCE_SCATTER_BLOCK": ("-", ["ipc_pull"]),
    **{f"CROSSRAIL_{name}": ("-", [algorithm, f"{algorithm}~memcpy_threshold=100"]) for name, algorithm in
       {"GATHER": "ipc_push", "GATHERV": "ipc_push", "SCATTER": "ipc_pull", "SCATTERV": "ipc_push"}.items()},
    "CROSSRAIL_DEVICES": ("1", ["0"]),
    "CROSSRAIL_DEVICE_SCRATCH": ("32M", ["4K", "64K", "1M"]),
    "CROSSRAIL_DEVICE_STAGED_USES": ("2", ["0", "0", "1", "100"]),
    "CROSSRAIL_DEVICE_MAPPED": ("8G", ["0", "64K", "2M"]),
    "CROSSRAIL_ONE_LAUNCHER": ("1", ["0"]),
    "CROSSRAIL_SMS": ("0", ["1"]),
    "CROSSRAIL_RESIDENT": ("0", ["100"]),
}
ON_DEVICES = {"packet", "ll128", "ll128_one_shot", "ipc_kernel_push", "ipc_kernel_pull", "ipc_copy_push", "ipc_copy_pull", "ipc_push", "ipc_pull", "ll_one_shot", "two_shot_pull"}
ALIGNMENTS = {1: "byte char int8 bool SIGNED_CHAR UNSIGNED_CHAR INT8_T UINT8_T INTEGER1 BYTE C_BOOL", 2: "short uint16 SHORT UNSIGNED_SHORT INT16_T "
              "UINT16_T INTEGER2", 4: "int unsigned float 2int short_int float_int INT UNSIGNED INT32_T UINT32_T INTEGER INTEGER4 FLOAT REAL REAL4 "
              "C_FLOAT_COMPLEX C_COMPLEX COMPLEX COMPLEX8 LOGICAL FLOAT_INT 2INT SHORT_INT 2INTEGER 2REAL"}
ALIGNMENTS = {name: bytes_ for bytes_, names in ALIGNMENTS.items() for name in names.split()}
LONG_DOUBLES = {"LONG_DOUBLE", "LONG_DOUBLE_INT", "C_LONG_DOUBLE_COMPLEX"}


def _alignment(kind):
    if isinstance(kind, str):
        return 16 if kind in LONG_DOUBLES else ALIGNMENTS.get(kind, 8)
    parts = [part for _, _, part in kind[1]] if kind[0] == "struct" else [kind[-1]]
    return max((_alignment(part) for part in parts), default=1)


def of_batch(random, ranks):
    """What holds for a whole job: whether its ranks share a device, and one of them may have no driver. To be said of every program."""
    return {"shared": int(random.random() < 0.4), "without": random.randrange(ranks) if random.random() < 0.1 else -1}


def _may_lie_there(step, teams, avoided):
    """Whether crossrail promises to carry such a call on device memory, or to give the MPI library copies."""
    return not teams[step["team"]]["inter"] and (step["mode"] != "p" or "persistent_on_devices" not in avoided)


def _kind(random, how, key):
    """None: where it lay before."""
    if how in ("out", "in"):
        return random.choice(PLAIN) if key == how else None
    if how == "mixed" and random.random() < 0.5:
        return None
    return random.choice(PLAIN if how == "plain" else ANY)


def _place(random, step, ways=None):
    how = random.choice(ways) if ways else random.choices(["host", "plain", "any", "out", "in", "mixed"], [12, 40, 20, 5, 5, 18])[0]
    for member in step["members"] if how != "host" else []:
        for key in ("out", "in"):
            kind = _kind(random, how, key)
            if kind is None:
                continue
            types = [step["element"]] if step["form"] in FORMS else (member[key] or {"types": []})["types"]
            shift = max((_alignment(one) for one in types), default=1) * random.choice([0, 0, 1, 3])
            member[key + "_kind"] = kind + 100 * shift


def put_on_devices(program, avoided, job):
    """Changes the program. What `of_batch` says of its job is kept in it."""
    random = random_numbers.Random(program["seed"] * 7 + 1)
    teams = teams_of(program)
    for part in program["parts"]:
        for step in part:
            if step["op"] == "call" and _may_lie_there(step, teams, avoided):
                _place(random, step)
    odd = random.random()
    settings = [{"op": "driver", "delay_us": random.choice([0, 0, 100, 1000]), "refuses_maps": int(random.random() < 0.1)}]
    for name, (usual, others) in SETTINGS.items():
        if usual != "-":
            value = random.choice(others) if odd < 0.7 and random.random() < 0.15 else usual
            settings.append({"op": "set", "name": name, "value": value})
    for step in program["parts"][0]:
        if step["op"] == "set" and SETTINGS.get(step["name"], "1")[0] == "-" and random.random() < 0.6:
            step["value"] = random.choice(SETTINGS[step["name"]][1]) if random.random() < 0.6 else "-"
    put_bursts_into(program, avoided, lambda step: _place(random, step, ["plain"] * 14 + ["any", "mixed"]))
    program["parts"][0][:0] = settings
    program["devices"] = job
    return program

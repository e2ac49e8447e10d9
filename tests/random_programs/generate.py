"""Random legal programs. A program is a dictionary of plain values, the same for all ranks:

  seed, ranks   and parts: a list of steps for each thread. The first part runs before the others.
  A step is a dictionary with "op"; text.py says what the interpreter is told of it.

No step can wait for ever: every rank goes through the steps of a thread in the same order, and none waits for one that
comes later.
"""
import random as random_numbers

from calls import calls_of_a_late_root, random_call

SETTINGS = {  # Each program begins with the first, and it may be one of the others instead.
    "CROSSRAIL_ALLTOALL": ("-", ["linear", "pairwise", "scatter_destination", "scatter_destination~throttle=1", "bruck",
                                 "node_shared", "node_shared~packet=64", "node_shared~chunk=256", "node_single_copy",
                                 "leader_staged", "leader_coalesced", "leader_pipelined", "leader_pipelined~leaders=2~split=1K",
                                 "hierarchical_datatype", "matrix_block", "node_leaders"]),
    "CROSSRAIL_ALLTOALLV": ("-", ["pairwise", "scatter_destination", "scatter_destination~throttle=1", "node_shared",
                                  "node_shared~packet=64~direct=256", "leader_pipelined", "leader_pipelined~coalesce=100~leaders=2",
                                  "leader_pipelined~coalesce=64K~split=1K"]),
    # flat=0 makes groups, as among many ranks; packet=64K makes calls of many packets.
    "CROSSRAIL_ALLREDUCE": ("-", ["recursive_doubling", "rabenseifner", "ring", "node_shared", "node_shared~packet=64~part=1K",
                                  "node_shared~flat=0", "node_shared~flat=0~packet=64~part=1K", "node_shared~flat=0~packet=64K", "node_shared~flat=3",
                                  "node_single_copy", "node_single_copy~read=64~uncached=0", "node_single_copy~read=1K~part=64",
                                  "rank_order", "rank_order~whole=64~part=1K", "rank_order~around=64", "multi_lane", "multi_lane~part=1K~halving=64", "multi_lane~part=1K~split=64~circling=0"]),
    "CROSSRAIL_ALLGATHER": ("-", ["ring", "bruck", "node_shared", "node_shared~packet=64~part=1K", "multi_lane", "multi_lane~part=1K"]),
    "CROSSRAIL_ALLGATHERV": ("-", ["ring", "node_shared", "node_shared~packet=64~part=1K", "multi_lane", "multi_lane~part=1K"]),
    "CROSSRAIL_REDUCE_SCATTER": ("-", ["pairwise", "node_shared", "node_shared~packet=64~part=1K", "multi_lane", "multi_lane~part=1K"]),
    "CROSSRAIL_REDUCE_SCATTER_BLOCK": ("-", ["pairwise", "node_shared", "node_shared~packet=64~part=1K", "multi_lane", "multi_lane~part=1K"]),
    **{f"CROSSRAIL_{name}": ("-", ["direct", "binomial", "leader_direct", "leader_direct~packet=64~part=1K", "node_shared",
                                   "node_shared~packet=64~part=1K", "node_single_copy"]) for name in ("GATHER", "SCATTER")},
    **{f"CROSSRAIL_{name}": ("-", ["direct", "node_shared", "node_shared~packet=64~direct=256"]) for name in ("GATHERV", "SCATTERV")},
    "CROSSRAIL_REPRODUCIBLE": ("0", ["1"]),
    "CROSSRAIL_SCRATCH": ("64M", ["64K", "256K", "1M"]),
    "CROSSRAIL_SLOTS": ("4", ["0", "1", "2", "16"]),
    "CROSSRAIL_SINGLE_COPY": ("1", ["0"]),
    "CROSSRAIL_SEGMENT": ("memfd,shm", ["shm", "none"]),
    "CROSSRAIL_PATIENCE": ("500", ["20", "5"]),
    "CROSSRAIL_PLANS": ("512", ["1", "2"]),
    "CROSSRAIL_GUARD": ("1", ["0", "2", "100"]),
    "CROSSRAIL_OPEN_AFTER": ("0", ["200", "20"]),
}
INFO_KEYS = ["-", "crossrail_reproducible=1", "crossrail_reproducible=1", "crossrail_reproducible=0", "crossrail_slots=1"]


class Making:
    """A program while it is made."""

    def __init__(self, seed, ranks, avoided, threads):
        self.random = random_numbers.Random(seed)
        self.ranks, self.avoided, self.threads = ranks, avoided, threads
        self.teams = {0: {"groups": [list(range(ranks))], "inter": False, "opened": True}}
        self.number = 0
        self.opens_at_once = True
        self.parts = [[]]
        self.seed = seed

    def take_number(self, count=1):
        self.number += count
        return self.number - count + 1

    def done(self):
        return {"seed": self.seed, "ranks": self.ranks, "parts": self.parts}


def _settings(making):
    random, steps = making.random, making.parts[0]
    odd = random.random()
    for name, (usual, others) in SETTINGS.items():
        chance = 0.5 if usual == "-" else 0.12
        value = random.choice(others) if odd < 0.75 and random.random() < chance else usual
        steps.append({"op": "set", "name": name, "value": value})
        if name == "CROSSRAIL_OPEN_AFTER":
            making.opens_at_once = value == "0"
    nodes = "-"
    if random.random() < 0.4 and making.ranks > 1:
        many = random.randint(2, min(3, making.ranks))
        nodes = ",".join(str(random.randrange(many)) for _ in range(making.ranks))
        if random.random() < 0.5:
            nodes = ",".join(sorted(nodes.split(",")))
    steps.append({"op": "set", "name": "CROSSRAIL_NODES", "value": nodes})


def _partition(random, ranks, most):
    """Some of the ranks in up to `most` groups, in any order."""
    ranks = list(ranks)
    if random.random() < 0.6:
        random.shuffle(ranks)
    groups = [[] for _ in range(random.randint(1, most))]
    leaves_out = random.random() < 0.2
    for rank in ranks:
        if not (leaves_out and random.random() < 0.3):
            random.choice(groups).append(rank)
    return [group for group in groups if group]


def _ways(making, parent, own_thread):
    team = making.teams[parent]
    if team["inter"]:
        return ["merge"]
    ways = ["dup", "dup", "split", "split", "split"]
    if own_thread:
        return ways
    ways += [way for way in ("info", "info", "idup", "self", "oneself", "create", "group", "split_type") if way not in making.avoided]
    if len(team["groups"]) == 1 and len(team["groups"][0]) % 2 == 0:
        ways.append("cart")
    if min(len(group) for group in team["groups"]) > 1:
        ways += ["inter", "inter"]
    return ways


def _groups_of(making, way, parent):
    random, groups = making.random, making.teams[parent]["groups"]
    if way in ("self", "oneself"):
        return [[rank] for rank in range(making.ranks)]
    if way == "split":
        return [part for group in groups for part in _partition(random, group, 3)]
    if way in ("create", "group"):
        some = []
        for group in groups:
            some.append(random.sample(group, random.randint(1, len(group))))
        return some
    if way == "inter":
        halves = []
        for group in groups:
            at = random.randint(1, len(group) - 1)
            halves += [group[:at], group[at:]]
        return halves
    if way == "merge":
        return [groups[i] + groups[i + 1] for i in range(0, len(groups), 2)]
    return [list(group) for group in groups]


def make_team(making, steps, thread, parent):
    way = making.random.choice(_ways(making, parent, thread > 0))
    groups = _groups_of(making, way, parent)
    if not groups or len(making.teams) > 40:
        return None
    number = len(making.teams)
    key = making.random.choice(INFO_KEYS) if way == "info" else "-"
    steps.append({"op": "comm", "number": number, "how": way, "key": key, "parent": parent, "returns": making.random.randrange(2),
                  "inter": way == "inter", "groups": groups})
    making.teams[number] = {"groups": groups, "inter": way == "inter", "opened": False, "how": way,
                            "ordered": key == "crossrail_reproducible=1",
                            "grid": way == "cart" or making.teams[parent].get("grid", False)}
    if way != "inter" and making.random.random() < 0.5:
        steps.append(_other(making, number, "barrier"))
        making.teams[number]["opened"] = True
    return number


def _other(making, team, kind=None):
    random = making.random
    kinds = ["barrier", "bcast", "allreduce", "reduce", "allgather", "ibarrier", "ibcast", "iallreduce"]
    everybody = [len(group) for group in making.teams[team]["groups"]] == [making.ranks]
    if making.threads == 1 and "put" not in making.avoided and (everybody or "put_of_some" not in making.avoided):
        kinds.append("put")
    kind = kind or random.choice(kinds)
    if kind in ("barrier", "bcast", "allreduce", "reduce", "allgather"):
        making.teams[team]["opened"] = True
    return {"op": "other", "number": making.take_number(), "team": team, "kind": kind, "bytes": random.choice([0, 1, 64, 3000, 20000])}


def _message(making, team):
    random = making.random
    group = random.choice(making.teams[team]["groups"])
    source, target = random.choice(group), random.choice(group)
    sent, received = random.choice(["isend", "isend", "issend"]), random.choice(["irecv", "any", "anytag"])
    if source != target and random.random() < 0.5:
        sent, received = random.choice(["send", "ssend", "isend"]), random.choice(["recv", "mprobe", "iprobe", "irecv"])
    number = making.take_number(2)
    return {"op": "message", "number": number, "team": team, "from": source, "to": target,
            "bytes": random.choice([0, 1, 100, 5000, 70000, 300000]), "sent": sent, "received": received}


# With a + behind, it goes on until all have ended.
WAYS = ["wait", "waitall", "waitany", "waitsome", "test", "testall", "testany", "testsome"]
WAYS += ["status"] + [way + "+" for way in WAYS[2:]]


class Thread:
    """The steps of one thread while they are made."""

    def __init__(self, making, index, teams):
        self.making, self.index, self.teams = making, index, teams
        self.open, self.persistent, self.steps = [], {}, making.parts[-1]

    def _recent_team(self):
        random = self.making.random
        return random.choice(self.teams[-2:] if random.random() < 0.7 else self.teams)

    def call(self):
        self._put(random_call(self.making, self._recent_team()))

    def late_root(self):
        for step in calls_of_a_late_root(self.making, self._recent_team()):
            self._put(step) if step["op"] == "call" else self.steps.append(step)
            if self.making.random.random() < 0.1:
                self.message()

    def _put(self, step):
        making, team = self.making, step["team"]
        self.steps.append(step)
        if step["mode"] == "n":
            self.open.append(step["number"])
        if step["mode"] == "p":
            self.persistent[step["number"]] = False
        # Only the ninth of the others opens it.
        if step["mode"] == "p" or step["mode"] == "b" and step["form"] in "avw":
            making.teams[team]["opened"] = True

    def start(self):
        random = self.making.random
        if not self.persistent:
            return
        numbers = random.sample(sorted(self.persistent), min(len(self.persistent), random.choice([1, 1, 1, 2, 3])))
        # A rank that starts one again must have ended it: in the order of their numbers, as on all ranks.
        self.steps.append({"op": "start", "numbers": numbers})
        self.open += [number for number in numbers if number not in self.open]

    def complete(self):
        random = self.making.random
        if not self.open:
            return
        for rank in [-1] if random.random() < 0.3 else random.sample(range(self.making.ranks), random.randint(1, self.making.ranks)):
            numbers = random.sample(self.open, random.randint(1, min(len(self.open), 8)))
            self.steps.append({"op": "complete", "rank": rank, "how": random.choice(WAYS), "numbers": numbers})
        if len(self.open) > 30:
            self.steps.append({"op": "complete", "rank": -1, "how": "waitall", "numbers": self.open})
            self.open = []

    def message(self):
        team = self.making.random.choice(self.teams)
        if not self.making.teams[team]["inter"]:
            step = _message(self.making, team)
            self.steps.append(step)
            self.open += [step["number"], step["number"] + 1]

    def other(self):
        team = self.making.random.choice(self.teams)
        if not self.making.teams[team]["inter"]:
            step = _other(self.making, team)
            self.steps.append(step)
            if step["kind"].startswith("i"):
                self.open.append(step["number"])

    def team(self):
        if self.index > 0 and "communicators_of_threads" in self.making.avoided:
            return
        made = make_team(self.making, self.steps, self.index, self.making.random.choice(self.teams))
        if made is not None:
            self.teams.append(made)

    def free(self):
        random = self.making.random
        team = random.choice(self.teams)
        if team == 0 or len(self.teams) < 2 or self.making.teams[team].get("how") == "oneself":
            return
        pending = any(step.get("team") == team and step.get("number") in self.open + list(self.persistent) or
                      step.get("team") == team and step.get("number", -9) + 1 in self.open for step in self.steps)
        if pending and ("freed_communicator" in self.making.avoided or random.random() < 0.5):
            return
        # MPI_Comm_disconnect waits for what is pending on all ranks, which may not have come to its end.
        self.steps.append({"op": "free", "team": team, "way": 0 if pending else random.randrange(2)})
        self.teams.remove(team)

    def delay(self):
        random = self.making.random
        self.steps.append({"op": "delay", "rank": random.randrange(-1, self.making.ranks),
                           "us": random.choice([10, 100, 1000, 5000, 30000]), "computes": random.randrange(2)})

    def make(self, length):
        weighted = [(self.call, 40), (self.late_root, 3), (self.complete, 20), (self.start, 12), (self.message, 10), (self.other, 6), (self.team, 5),
                    (self.free, 3), (self.delay, 4)]
        ways, weights = zip(*weighted)
        for _ in range(length):
            self.making.random.choices(ways, weights)[0]()


def random_program(seed, ranks, avoided, threads=1):
    making = Making(seed, ranks, avoided, threads)
    random = making.random
    _settings(making)
    if threads == 1:
        thread = Thread(making, 0, [0])
        thread.team()
        thread.make(random.choice([6, 20, 40, 80]))
        return making.done()
    bases = [make_team(making, making.parts[0], 0, 0) for _ in range(threads)]
    usable = [team for team in bases if team is not None and making.teams[team].get("how") != "oneself"]
    for index, team in enumerate(usable):
        making.parts.append([])
        Thread(making, index + 1, [team]).make(random.choice([6, 20, 40]))
    return making.done()

"""The communicators, datatypes and calls of one rank as C."""
from c_reductions import Reduced
from datatypes import ROOTED, block_runs, blocks_of, paired, reach, row_key, side_form
from reductions import FORMS
from smaller import peers_in, root_of, teams_of

PREDEFINED = {"byte": "MPI_BYTE", "char": "MPI_CHAR", "short": "MPI_SHORT", "int": "MPI_INT", "unsigned": "MPI_UNSIGNED",
              "long": "MPI_LONG", "float": "MPI_FLOAT", "double": "MPI_DOUBLE", "int8": "MPI_INT8_T", "uint16": "MPI_UINT16_T",
              "int64": "MPI_INT64_T", "aint": "MPI_AINT", "complex": "MPI_C_DOUBLE_COMPLEX", "2int": "MPI_2INT",
              "double_int": "MPI_DOUBLE_INT", "short_int": "MPI_SHORT_INT", "float_int": "MPI_FLOAT_INT", "bool": "MPI_C_BOOL"}
CALLS = {"a": "Alltoall", "v": "Alltoallv", "w": "Alltoallw", "g": "Allgather", "h": "Allgatherv", "r": "Allreduce",
         "s": "Reduce_scatter_block", "t": "Reduce_scatter", "G": "Gather", "H": "Gatherv", "S": "Scatter", "T": "Scatterv"}
ABSOLUTE, FREED, NULL = {"out": 1, "in": 2}, 4, 8


def _list(values):
    return "{" + ", ".join(str(value) for value in values) + "}"


class Rank:
    """The text of what one rank does in one part."""

    def __init__(self, program, rank):
        self.program, self.rank, self.teams = program, rank, teams_of(program)
        self.lines, self.types, self.calls, self.requests, self.started = [], 0, {}, [], set()
        self.reduced, self.members = {}, {}

    def say(self, line):
        self.lines.append("  " + line)

    def type(self, kind):
        """Builds it; the name of the variable, or of MPI's own."""
        if isinstance(kind, str):
            return PREDEFINED[kind]
        way = kind[0]
        parts = [part for _, _, part in kind[1]] if way == "struct" else [kind[-1]]
        names = [self.type(part) for part in parts]
        self.types += 1
        made = f"t{self.types}"
        ints, bytes_of = lambda values: f"(int[]){_list(values)}", lambda values: f"(MPI_Aint[]){_list(values)}"
        arguments = {
            "contig": lambda: f"contiguous({kind[1]}, ", "vector": lambda: f"vector({kind[1]}, {kind[2]}, {kind[3]}, ",
            "hvector": lambda: f"create_hvector({kind[1]}, {kind[2]}, {kind[3]}, ",
            "indexed": lambda: f"indexed({len(kind[1])}, {ints(l for l, _ in kind[1])}, {ints(p for _, p in kind[1])}, ",
            "hindexed": lambda: f"create_hindexed({len(kind[1])}, {ints(l for l, _ in kind[1])}, {bytes_of(p for _, p in kind[1])}, ",
            "iblock": lambda: f"create_indexed_block({len(kind[2])}, {kind[1]}, {ints(kind[2])}, ",
            "struct": lambda: f"create_struct({len(parts)}, {ints(l for l, _, _ in kind[1])}, {bytes_of(p for _, p, _ in kind[1])}, ",
            "subarray": lambda: f"create_subarray(2, {ints(kind[2])}, {ints(kind[3])}, {ints(kind[4])}, "
                                f"MPI_ORDER_{'C' if kind[1] == 'C' else 'FORTRAN'}, ",
            "resized": lambda: f"create_resized(", "dup": lambda: "dup("}[way]()
        last = f"(MPI_Datatype[]){_list(names)}" if way == "struct" else names[0]
        if way == "resized":
            last = f"{names[0]}, {kind[1]}, {kind[2]}"
        self.say(f"MPI_Datatype {made};")
        self.say(f"MPI_Type_{arguments}{last}, &{made});")
        return made

    def committed(self, kind, absolute_to):
        name = self.type(kind)
        if absolute_to:
            self.types += 1
            self.say(f"MPI_Datatype t{self.types} = from_bottom({name}, {absolute_to});")
            return f"t{self.types}"
        if not isinstance(kind, str):
            self.say(f"MPI_Type_commit(&{name});")
        return name

    def comm(self, step):
        number, groups, way = step["number"], step["groups"], step["how"]
        mine = next((i for i, group in enumerate(groups) if self.rank in group), -1)
        parent = f"c{step['parent']}"
        self.say(f"c{number} = MPI_COMM_NULL; /* {way}: {groups} */")
        group = f"(int[]){_list(groups[mine])}, {len(groups[mine])}" if mine >= 0 else "(int[]){0}, 0"
        color, key = (str(mine), groups[mine].index(self.rank)) if mine >= 0 else ("MPI_UNDEFINED", 0)
        member = any(self.rank in one for one in self.teams[step["parent"]]["groups"])
        if way in ("self", "oneself"):
            self.say(f"MPI_Comm_dup(MPI_COMM_SELF, &c{number});" if way == "self" else f"c{number} = MPI_COMM_SELF;")
        elif not member or way == "group" and mine < 0:
            return
        elif way in ("create", "group"):
            self.say(f"c{number} = of_group({parent}, {group}, {int(way == 'group')});")
        elif way == "inter" and mine >= 0:
            self.say(f"c{number} = between({parent}, {color}, {key}, {groups[mine ^ 1][0]});")
        elif way == "merge":
            self.say(f"MPI_Intercomm_merge({parent}, {mine % 2}, &c{number});")
        elif way == "split":
            self.say(f"MPI_Comm_split({parent}, {color}, {key}, &c{number});")
        elif way == "cart":
            self.say(f"MPI_Cart_create({parent}, 2, (int[]){{{len(groups[0]) // 2}, 2}}, (int[]){{0, 1}}, 0, &c{number});")
        elif way == "split_type":
            self.say(f"MPI_Comm_split_type({parent}, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &c{number});")
        elif way == "idup":
            self.say(f"{{ MPI_Request r; MPI_Comm_idup({parent}, &c{number}, &r); MPI_Wait(&r, MPI_STATUS_IGNORE); }}")
        elif way == "info":
            self.say(f'c{number} = with_info({parent}, "{step["key"]}");')
        elif way != "inter":
            self.say(f"MPI_Comm_dup({parent}, &c{number});")

    def side(self, step, member, key):
        """Declares what a side needs; its arguments."""
        side, form, number, name = member[key], side_form(step, key), step["number"], f"{key}{step['number']}"
        low, high = reach(form, side, blocks_of(step, key, len(peers_in(self.teams[step["team"]], self.rank))))
        self.say(f"Area {name} = area({member[key + '_kind']}, {low}, {high});")
        absolutely = bool(member["flags"] & ABSOLUTE[key])
        names = [self.committed(kind, f"{name}.base" if absolutely else "") for kind in side["types"]]
        address = "MPI_BOTTOM" if absolutely else f"{name}.base"
        if member["flags"] & NULL and not any(side["counts"]):
            address = "NULL"
        if form == "a":
            return f"{address}, {side['counts'][0]}, {names[0]}"
        size, made = len(side["counts"]), f"{key}_{{}}{number}"
        counts, places = made.format("counts"), made.format("places")
        for array, values in ((counts, side["counts"]), (places, side["places"])):
            self.say(f"static int {array}[{size}] = {_list(values)};")
        types = names[0]
        if form == "w":
            types = made.format("types")
            self.say(f"MPI_Datatype {types}[{size}] = {_list(names)};")
        return f"{address}, {counts}, {places}, {types}"

    def call(self, step):
        member = next((one for one in step["members"] if one["rank"] == self.rank), None)
        if member is None:
            return
        number, form = step["number"], step["form"]
        name, mode = CALLS[form], step["mode"].replace("q", "b")[0]  # There are no devices here.
        name = {"b": f"MPI_{name}", "n": f"MPI_I{name.lower()}", "p": f"{name.upper()}_INIT"}[mode]
        more = {"b": "", "n": f", &r{number}", "p": f", MPI_INFO_NULL, &r{number}"}[mode]
        self.calls[number], self.members[number] = step, member
        arguments = self.arguments(step, member)
        self.fill(number)
        if mode != "b":
            self.say(f"MPI_Request r{number} = MPI_REQUEST_NULL;")
            self.requests.append(number)
        self.say(f"OK({name}({arguments}, c{step['team']}{more})); /* step {number} */")
        if mode == "b":
            self.check(number)

    def arguments(self, step, member):
        """And what must come of the call."""
        if step["form"] in FORMS:
            self.reduced[step["number"]] = Reduced(step, member, peers_in(self.teams[step["team"]], self.rank), self.rank)
            return self.reduced[step["number"]].arguments(self.say, self.committed)
        if step["form"] in ROOTED:
            return self.rooted(step, member)
        sent = {"a": "MPI_IN_PLACE, 0, MPI_DATATYPE_NULL", "v": "MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL",
                "w": "MPI_IN_PLACE, NULL, NULL, NULL"}[side_form(step, "out")] if step["in_place"] else self.side(step, member, "out")
        received = self.side(step, member, "in")
        self.pieces(step, member)
        return f"{sent}, {received}"

    def rooted(self, step, member):
        """Garbage where arguments mean nothing."""
        team, sides = self.teams[step["team"]], []
        root = root_of(step, team, self.rank)
        for key in ("out", "in"):
            address = "MPI_IN_PLACE" if step["in_place"] and self.rank == root else "(void*)0x1230"
            counts = "-5" if side_form(step, key) == "a" else "(int*)0x1230, (int*)0x1230"
            sides.append(f"{address}, {counts}, MPI_DATATYPE_NULL" if member[key] is None else self.side(step, member, key))
        if member["in"] is not None:
            self.pieces(step, member)
        group = next(group for group in team["groups"] if root in group)
        number = group.index(root)
        if team["inter"] and self.rank in group:
            number = "MPI_ROOT" if self.rank == root else "MPI_PROC_NULL"
        return f"{', '.join(sides)}, {number}"

    def fill(self, number):
        if number in self.reduced:
            self.reduced[number].fill(self.say)
            return
        for receives, key in enumerate(("out", "in")):
            if self.members[number][key] is not None:
                self.say(f"fill(&{key}{number}, {number}, rank, {receives});")

    def check(self, number):
        if number in self.reduced:
            self.reduced[number].check(self.say)
            return
        step = self.calls[number]
        if self.members[number]["in"] is None:
            return
        self.say(f"check(&in{number}, {number}, {int(step['in_place'] and step['form'] not in ROOTED)}, "
                 f"must{number}, sizeof must{number} / sizeof must{number}[0] - 1);")

    def pieces(self, step, member):
        """What must arrive: bytes of other ranks' memory."""
        team, found = self.teams[step["team"]], []
        by_rank = {one["rank"]: one for one in step["members"]}
        peers, rooted = peers_in(team, self.rank), step["form"] in ROOTED
        for at, peer in enumerate([root_of(step, team, self.rank)] if step["form"] in "ST" else peers):
            key = "in" if step["in_place"] and not rooted else "out"
            if by_rank[peer][key] is None:
                continue  # It is in place at the root.
            block = peers_in(team, peer).index(self.rank)
            if step["form"] in "ghGH":
                block = at if key == "in" else 0
            source = block_runs(side_form(step, key), by_rank[peer][key], block)
            target = block_runs(side_form(step, "in"), member["in"], at)
            found += [f"{{{peer}, {a}, {b}, {n}}}" for a, b, n in paired(source, target)]
        self.say(f"static const Piece must{step['number']}[] = {{ /* from rank, from there, to here, bytes */")
        self.say("  " + ", ".join(found + ["{0, 0, 0, 0}"]) + "};")



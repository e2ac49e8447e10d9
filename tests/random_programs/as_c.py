"""A program as C that needs nothing but MPI: what each rank does stands in a function of its own, with what every exchange
must bring."""
from c_calls import Rank
from c_reductions import PROLOGUE as REDUCTIONS, definitions
from prologue import PROLOGUE


def _complete(rank, step):
    if step["rank"] not in (-1, rank.rank):
        return
    mine = [f"r{number}" for number in step["numbers"] if number in rank.requests]
    if not mine:
        return
    how, until = step["how"].rstrip("+"), int(step["how"].endswith("+"))
    rank.say(f"{{ MPI_Request q[] = {{{', '.join(mine)}}};")
    rank.say(f"  complete_{how}({len(mine)}, q, {until});")
    rank.say("  " + " ".join(f"{name} = q[{i}];" for i, name in enumerate(mine)) + " }")


def _start(rank, step):
    for number in step["numbers"]:
        if number in rank.calls:
            rank.say(f"MPI_Wait(&r{number}, MPI_STATUS_IGNORE);")
            rank.fill(number)
    for number in step["numbers"]:
        if number in rank.calls:
            rank.say(f"OK(MPI_Start(&r{number}));")
            rank.started.add(number)


def _message(rank, step):
    team, number = rank.teams[step["team"]], step["number"]
    group = next((one for one in team["groups"] if step["from"] in one), [])
    for receives, me, other, how in ((1, "to", "from", "received"), (0, "from", "to", "sent")):
        if rank.rank != step[me]:
            continue
        name = f"m{number + receives}"
        arguments = f"{name}, {step['bytes']}, MPI_BYTE, {group.index(step[other])}, {1000 + number}, c{step['team']}"
        rank.say(f"unsigned char* {name} = calloc(1, {step['bytes'] + 1});")
        blocking = {"send": "MPI_Send", "ssend": "MPI_Ssend", "recv": "MPI_Recv", "mprobe": "MPI_Recv", "iprobe": "MPI_Recv"}
        if step[how] in blocking:
            rank.say(f"{blocking[step[how]]}({arguments}{', MPI_STATUS_IGNORE' if receives else ''});")
            continue
        call = {"isend": "MPI_Isend", "issend": "MPI_Issend"}.get(step[how], "MPI_Irecv")
        rank.say(f"MPI_Request r{number + receives};")
        rank.say(f"{call}({arguments}, &r{number + receives});")
        rank.requests.append(number + receives)


def _other(rank, step):
    team, number, kind = rank.teams[step["team"]], step["number"], step["kind"]
    group = next((one for one in team["groups"] if rank.rank in one), None)
    if group is None:
        return
    comm, last, many = f"c{step['team']}", len(group) - 1, step["bytes"]
    call = {"barrier": f"MPI_Barrier({comm})", "bcast": f"MPI_Bcast(room({many}), {many}, MPI_BYTE, {last}, {comm})",
            "allreduce": f"MPI_Allreduce(room(4), room(4), 1, MPI_INT, MPI_SUM, {comm})",
            "reduce": f"MPI_Reduce(room(4), room(4), 1, MPI_INT, MPI_SUM, {last}, {comm})", "put": f"MPI_Barrier({comm})",
            "allgather": f"MPI_Allgather(room({many}), {many}, MPI_BYTE, room({many * len(group)}), {many}, MPI_BYTE, {comm})",
            "ibarrier": f"MPI_Ibarrier({comm}, &r{number})",
            "ibcast": f"MPI_Ibcast(room({many}), {many}, MPI_BYTE, {last}, {comm}, &r{number})",
            "iallreduce": f"MPI_Iallreduce(room(4), room(4), 1, MPI_INT, MPI_SUM, {comm}, &r{number})"}[kind]
    if kind[0] == "i":
        rank.say(f"MPI_Request r{number};")
        rank.requests.append(number)
    rank.say(f"OK({call});")


def _simple(rank, step):
    if step["op"] == "delay" and step["rank"] in (-1, rank.rank):
        rank.say(f"{'compute' if step['computes'] else 'usleep'}({step['us']});")
    elif step["op"] == "free":
        rank.say(f"if (c{step['team']} != MPI_COMM_NULL) MPI_Comm_{'disconnect' if step['way'] else 'free'}(&c{step['team']});")
    elif step["op"] == "set":
        value = "" if step["value"] == "-" else step["value"].replace("~", " ")
        rank.say(f'set("{step["name"]}", "{value}");')


STEPS = {"complete": _complete, "start": _start, "message": _message, "other": _other, "comm": lambda rank, step: rank.comm(step),
         "call": lambda rank, step: rank.call(step)}


def _end(rank):
    for number in rank.requests:
        rank.say(f"OK(MPI_Wait(&r{number}, MPI_STATUS_IGNORE));")
        if number in rank.calls:
            if rank.calls[number]["mode"] == "n" or number in rank.started:
                rank.check(number)
            if rank.calls[number]["mode"] == "p":
                rank.say(f"MPI_Request_free(&r{number});")


def _rank_text(program, number):
    """One function after the other for the parts; communicators are known to all of them."""
    rank = Rank(program, number)
    text = []
    for index, part in enumerate(program["parts"]):
        rank.lines, rank.requests = [], []
        for step in part:
            STEPS.get(step["op"], _simple)(rank, step)
        _end(rank)
        text.append(f"static void* rank_{number}_part_{index}(void* none) {{\n  const int rank = {number};\n  (void)rank, (void)none;\n"
                    + "\n".join(rank.lines) + "\n  return NULL;\n}\n")
    return "\n".join(text)


def c_program(program, kept):
    """The text; `kept` says what went wrong where."""
    ranks, parts = program["ranks"], len(program["parts"])
    teams = sorted(step["number"] for part in program["parts"] for step in part if step["op"] == "comm")
    text = [f"/* {kept['kind']} under {kept['mpi']}, {ranks} ranks, threads: {kept['level']}; program {program['seed']}. */", PROLOGUE]
    if "devices" in program:
        text.insert(1, "/* Sides that lay in device memory lie in host memory here: the .small.json beside the finding is what goes wrong. */")
    if definitions(program):
        text += [REDUCTIONS, definitions(program)]
    text += [f"static MPI_Comm c{number};" for number in teams] + [""]
    text += [_rank_text(program, rank) for rank in range(ranks)]
    level = {"single": "MPI_THREAD_SINGLE", "serialized": "MPI_THREAD_SERIALIZED", "multiple": "MPI_THREAD_MULTIPLE"}[kept["level"]]
    names = ", ".join("{" + ", ".join(f"rank_{rank}_part_{part}" for part in range(parts)) + "}" for rank in range(ranks))
    text.append(f"int main(int argc, char** argv) {{\n  static const Part parts[{ranks}][{parts}] = {{{names}}};\n"
                f"  return run(argc, argv, {level}, &parts[0][0], {ranks}, {parts});\n}}")
    return "\n".join(text) + "\n"

"""A program as the interpreter reads it."""
from datatypes import ROOTED, side_form, words
from reductions import FORMS, OWN


def _side(form, side):
    if form == "a":
        return words(side["types"][0]) + [side["counts"][0]]
    if form == "v":
        return words(side["types"][0]) + [v for pair in zip(side["counts"], side["places"]) for v in pair]
    found = []
    for count, place, kind in zip(side["counts"], side["places"], side["types"]):
        found += [count, place] + words(kind)
    return found


def _call(step):
    lines = [["call", step["number"], step["team"], step["form"], step["mode"], int(step["in_place"]), int(step["large"]),
              len(step["members"])]]
    if step["form"] in FORMS:
        element = words(step["element"]) if step["operation"] in OWN else [step["element"]]
        counts = [len(step["count"]), *step["count"]] if step["form"] == "t" else [step["count"]]
        lines[0] += [*counts, step["operation"], step["numbers"]] + element
    if step["form"] in ROOTED:
        lines[0] += [len(step["roots"]), *step["roots"]]
    for member in step["members"]:
        line = [member["rank"], member["out_kind"], member["in_kind"], member["flags"]]
        for key in ("out", "in"):
            line += [] if member[key] is None else _side(side_form(step, key), member[key])
        lines.append(line)
    return lines


def _comm(step):
    line = ["comm", step["number"], step["how"], step["key"], step["parent"], step["returns"], int(step["inter"]), len(step["groups"])]
    for group in step["groups"]:
        line += [len(group)] + group
    return [line]


def _step(step):
    op = step["op"]
    if op == "call":
        return _call(step)
    if op == "comm":
        return _comm(step)
    if op == "set":
        return [[op, step["name"], step["value"]]]
    if op == "free":
        return [[op, step["team"], step["way"]]]
    if op == "start":
        return [[op, len(step["numbers"])] + step["numbers"]]
    if op == "complete":
        return [[op, step["rank"], step["how"], len(step["numbers"])] + step["numbers"]]
    if op == "message":
        return [[op] + [step[key] for key in ("number", "team", "from", "to", "bytes", "sent", "received")]]
    if op == "other":
        return [[op] + [step[key] for key in ("number", "team", "kind", "bytes")]]
    if op == "driver":
        return [[op, step["delay_us"], step["refuses_maps"]]]
    if op in ("drain", "capture", "launch"):
        return [[op] + [step[key] for key in ("stream", "times") if key in step]]
    return [[op, step["rank"], step["us"], step["computes"]]]


def program_text(program):
    lines = [["program", program["seed"]]]
    for part in program["parts"]:
        lines.append(["thread"])
        for step in part:
            lines += _step(step)
    lines.append(["end"])
    return "".join(" ".join(str(word) for word in line) + "\n" for line in lines)

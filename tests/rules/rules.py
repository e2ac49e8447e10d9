"""The rules. Each is a function (path, text) -> ["line: what is wrong"]; `path` is relative to the
root of the repository. RULES lists them all, and self_test.py breaks each of them."""

import ast
import re

from source import CPP, functions, includes, is_macro, without_comments

LINES_A_FILE = 300
LINES_A_FUNCTION = 40
PARAMETERS = 4

FLOORS = ("base", "device", "topology", "transport", "device_sharing", "comm", "collectives", "selection", "engine", "shared_device", "api", "mpi", "nccl")
BELOW = {room: set(FLOORS[:number]) for number, room in enumerate(FLOORS)}
BELOW["topology"] = BELOW["device"] = {"base"}
BELOW["api"] = BELOW["api"] | {"crossrail"}
BELOW["mpi"] = (BELOW["mpi"] - {"api"}) | {"crossrail"}
BELOW["nccl"] = (BELOW["nccl"] - {"api", "mpi"}) | {"crossrail"}
# These are the folders of src/mpi, from the lowest to the highest. Each includes only those below it. The program of
# helper processes stands alone.
MPI_FLOORS = ("words", "library", "buffers", "arguments", "observe", "tool_variables", "communicator", "requests", "calls", "interpose")
TABLES = {"collectives/collectives.def"}  # They hold names only, so any room may read them.
PUBLIC_HEADERS = {"device": {"crossrail/device_module.h"}}

VENDOR = r"\b(?:cuda|hip|rocm|hsa|sycl|nccl|rccl|nvml|cu|ze)(?:[A-Z_]\w*)\b|\bCU(?:DA)?_\w+|\bHIP_\w+"
VENDOR_CONDITION = r"CUDA|NVCC|NVIDIA|\bHIP|ROCM|AMDGPU|_HIP|SYCL|LEVEL_ZERO|INTEL_GPU"
BANNED_WORDS = {"utils", "misc", "impl", "mgr", "ctx", "legacy"}
ALGORITHMS = (
    "all_of|any_of|clamp|copy|copy_n|count|count_if|equal|fill|fill_n|find|find_if|lower_bound|max|max_element|min|min_element|mismatch"
    "|none_of|remove_if|reverse|rotate|sort|stable_sort|transform|unique|upper_bound"
)
GROWS = (
    r"\bnew\b|\b(?:malloc|calloc|realloc|strdup|aligned_alloc|posix_memalign)\s*\(|\bmake_(?:unique|shared)\b"
    r"|\.(?:push_back|emplace_back|emplace|insert|resize|reserve|append|assign)\s*\("
    r"|\bstd::(?:vector|string|map|set|list|deque|function|to_string|mutex|lock_guard|unique_lock)\b"
    r"|\b(?:reserve_\w+|open|open_messages|process_settings|getenv)\s*\("
)
# These prepare plans, beside the functions `plan` and `fit` themselves. Only they and each other may call them.
PREPARES = {"share_with_helpers", "plan_both_ways", "plan_lanes", "plan_mapped", "plan_messages", "plan_on_devices", "plan_combined_packets", "plan_order",
            "plan_packets", "plan_pairs", "plan_pairwise_on_devices", "plan_pull", "plan_regions", "plan_staged", "reserve_send_copy"}


def _is_cpp(path):
    return path.endswith(CPP)


def _room(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else ""


def _matches(pattern, code, what):
    return [f"{code.count(chr(10), 0, m.start()) + 1}: {what}: {m.group(0).strip()}" for m in re.finditer(pattern, code)]


def layering(path, text):
    """A room of src/ includes only rooms below it."""
    room = _room(path)
    if not room or not _is_cpp(path):
        return []
    wrong = []
    for line, name in includes(text):
        if not name.startswith('"'):
            continue
        other = name.strip('"')
        target = other.split("/")[0]
        if other in TABLES | PUBLIC_HEADERS.get(room, set()) or target == room or target in BELOW.get(room, set()):
            continue
        wrong.append(f"{line}: {room} may not include {other}")
    return wrong


def floors_of_mpi(path, text):
    """A folder of src/mpi includes only folders of it that lie below."""
    parts = path.split("/")
    if parts[:2] != ["src", "mpi"] or len(parts) < 4 or parts[2] not in MPI_FLOORS or not _is_cpp(path):
        return []
    below = set(MPI_FLOORS[:MPI_FLOORS.index(parts[2]) + 1])
    return [f"{line}: {parts[2]} may not include {name}" for line, name in includes(text)
            if name.startswith('"mpi/') and name.split("/")[1] not in below]


def mpi_only_behind_its_door(path, text):
    """Only src/mpi (and programs under test, and benches) include mpi.h."""
    if not _is_cpp(path) or path.startswith(("src/mpi/", "tests/", "bench/", "examples/")):
        return []
    names = re.compile(r"[<\"]?(?:\w+/)*mpi(?:_abi)?\.h[>\"]?$|CROSSRAIL_MPI_HEADER")
    return [f"{line}: {name} outside src/mpi" for line, name in includes(text) if names.match(name)]


def collectives_know_no_mpi_and_no_vendor(path, text):
    if _room(path) != "collectives" or not _is_cpp(path):
        return []
    code = without_comments(text, keep_strings=False)
    return _matches(r"\bP?MPI_\w+|\bgetenv\b|" + VENDOR, code, "not in src/collectives")


def algorithms_are_included(path, text):
    """What uses std::min and the like includes <algorithm>: precompiled headers hide that it is missing, until a package is built."""
    if not _is_cpp(path) or not path.startswith(("src/", "modules/")):
        return []
    code = without_comments(text, keep_strings=False)
    missing = all(name != "<algorithm>" for _, name in includes(text))
    return _matches(r"\bstd::(?:%s)\(" % ALGORITHMS, code, "without <algorithm>") if missing else []


def no_condition_on_a_vendor(path, text):
    if not path.startswith("src/") or not _is_cpp(path):
        return []
    conditions = r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b[^\n]*(?:" + VENDOR_CONDITION + r")[^\n]*"
    return _matches("(?m)" + conditions, without_comments(text), "a condition on a vendor")


def short_files(path, text):
    count = text.count("\n")
    return [f"{count}: more than {LINES_A_FILE} lines"] if count > LINES_A_FILE else []


def short_functions(path, text):
    if path.endswith(".py"):
        found = [(node.name, node.lineno, node.end_lineno) for node in ast.walk(ast.parse(text))
                 if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    elif _is_cpp(path) and not path.endswith(".def"):
        found = [(one.name, one.first_line, one.last_line) for one in functions(text)]
    else:
        return []
    return [f"{first}: {name} has {last - first + 1} lines, more than {LINES_A_FUNCTION}"
            for name, first, last in found if last - first + 1 > LINES_A_FUNCTION]


def _given_by_mpi(path, function):
    """Entry points and callbacks, whose parameters MPI has chosen: they begin with a handle."""
    return path.startswith("src/mpi/") and function.parameters[0].startswith("MPI_")


def few_parameters(path, text):
    if not path.startswith("src/") or not path.endswith((".cpp", ".h")) or path.startswith(("src/mpi/interpose", "src/nccl/entry_points")):
        return []
    return [f"{one.first_line}: {one.name} has {len(one.parameters)} parameters, more than {PARAMETERS}"
            for one in functions(text)
            if len(one.parameters) > PARAMETERS and not is_macro(one.name) and not _given_by_mpi(path, one)]


def _is_banned(name):
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower().split("_")
    return bool(BANNED_WORDS & set(words)) or name.startswith("new_") or name.endswith("_2")


def plain_names(path, text):
    wrong = [f"1: the file name {part}" for part in path.split("/") if _is_banned(part.split(".")[0])]
    if path.endswith(".py"):
        nodes = list(ast.walk(ast.parse(text)))
        names = [(node.lineno, node.name) for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
        names += [(node.lineno, node.id) for node in nodes if isinstance(node, ast.Name)]
        names += [(node.lineno, node.arg) for node in nodes if isinstance(node, ast.arg)]
    elif _is_cpp(path):
        code = without_comments(text, keep_strings=False)
        names = [(code.count("\n", 0, m.start()) + 1, m.group(0)) for m in re.finditer(r"\b[A-Za-z_]\w*", code)
                 if not re.fullmatch(VENDOR, m.group(0))]
    else:
        names = []
    return wrong + sorted({f"{line}: the name {name}" for line, name in names if _is_banned(name)})


def _is_algorithm(path):
    return bool(re.match(r"src/collectives/\w+/\w+\.cpp$", path))


def algorithm_headers(path, text):
    """Each algorithm begins with What, When, Cost, Needs and From, in this order."""
    if not _is_algorithm(path):
        return []
    words = re.findall(r"^// (\w+) {2,}\S", re.match(r"(?://[^\n]*\n)*", text).group(0), flags=re.M)
    expected = ["What", "When", "Cost", "Needs", "From"]
    return [] if words == expected else [f"1: begins with {words}, not with {expected}"]


def run_allocates_nothing(path, text):
    """All functions of an algorithm but fit, plan and PREPARES are on the hot path."""
    if not path.startswith("src/collectives/") or not path.endswith((".cpp", ".h")):
        return []
    wrong = []
    for one in functions(text):
        if one.name in PREPARES | {"fit", "plan"}:
            continue
        for match in re.finditer(GROWS + rf"|\b(?:{'|'.join(sorted(PREPARES))})\s*\(", one.body):
            line = one.first_line + one.body.count("\n", 0, match.start())
            wrong.append(f"{line}: {one.name} may allocate or wait: {match.group(0)}")
    return wrong


RULES = (
    layering,
    floors_of_mpi,
    mpi_only_behind_its_door,
    collectives_know_no_mpi_and_no_vendor,
    algorithms_are_included,
    no_condition_on_a_vendor,
    short_files,
    short_functions,
    few_parameters,
    plain_names,
    algorithm_headers,
    run_allocates_nothing,
)


def declared_parameters(files):
    """Every parameter that is declared is read by an algorithm, and stands in a row of a catalogue."""
    of = {path: text for path, text in files.items() if path.startswith("src/collectives/")}
    tables = {path: re.sub(r"//[^\n]*|\"[^\"\n]*\"", "", text) for path, text in of.items() if path.endswith(".def")}
    read = set(re.findall(r"\bparameters::(\w+)", "\n".join(text for path, text in of.items() if path not in tables)))
    rows = " ".join(re.findall(r"^(?:PAPER_)?ALGORITHM\(([^)]*)\)", "\n".join(tables.values()), flags=re.M))
    listed = {name for row in rows.split(",") for name in row.split()}
    wrong = []
    for path, text in tables.items():
        for name in re.findall(r"^PARAMETER\((\w+),", text, flags=re.M):
            wrong += [] if name in read else [f"{path}:1: no algorithm reads the parameter {name}"]
            wrong += [] if name in listed else [f"{path}:1: no row has the parameter {name}"]
    return wrong


def catalogues(files):
    """Rows of catalog.def and files beside it, one to one (a row may have a NAME_devices.cpp, too). `files`: {path: text} of the repository."""
    wrong = []
    for path, text in files.items():
        if not re.match(r"src/collectives/\w+/catalog\.def$", path):
            continue
        folder = path.rsplit("/", 1)[0]
        rows = re.findall(r"^(?:PAPER_)?ALGORITHM\((\w+),", text, flags=re.M)
        beside = {p.rsplit("/", 1)[1][:-4] for p in files if p.startswith(folder + "/") and p.endswith(".cpp")}
        parts = {f"{name}_devices" for name in rows}  # A row has it on a node whose ranks have device memory.
        wrong += [f"{path}:1: the row {name} stands twice" for name in sorted({n for n in rows if rows.count(n) > 1})]
        wrong += [f"{path}:1: the row {name} has no file" for name in sorted(set(rows) - beside)]
        wrong += [f"{folder}/{name}.cpp:1: has no row in catalog.def" for name in sorted(beside - set(rows) - parts)]
        for name in sorted(set(rows) & beside):
            if f"::{name} {{" not in files[f"{folder}/{name}.cpp"]:
                wrong.append(f"{folder}/{name}.cpp:1: has no namespace {name}")
    return wrong

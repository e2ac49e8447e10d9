"""What is said of the settings: which are set, from where, what is wrong; a configuration file with all of them; their page.

Rows and what was given come from the library (core.settings, core.settings_given): nothing here knows a setting by name.
"""

from typing import Any, Dict, List

from crossrail import core
from crossrail.errors import CliError

KINDS = {
    "path": "a path", "algorithm": "an algorithm, with parameters if need be: pairwise, or node_shared packet=512", "bytes": "a size: 64M",
    "segments": "memfd, shm and none, with commas between them", "nodes": "numbers with commas between them: 0,0,1,1",
    "count": "a number", "level": "0, 1 or 2", "flag": "0 or 1; off, no, false; on, yes, true",
}
SCOPES = {"communicator": "all ranks", **dict.fromkeys(("process", "environment", "start", "launch"), "each process")}
NEVER_IN_FILES = ("environment", "launch")


def origins(given: Dict[str, Any], rows: List[Dict[str, str]]) -> Dict[str, str]:
    """From where every variable that is set has its value: 'environment', '/etc/crossrail.conf:3'.

    A value that makes no sense, but is not the default, is of what was given last: a table that is not there.
    """
    preset = {row["variable"] for row in rows if row["value"] == row["preset"]}
    senseless = {one["variable"]: f"{one['from']} (wrong)" for one in given["given"] if one["wrong"] and one["variable"] not in preset}
    return {**senseless, **{one["variable"]: one["from"] for one in given["given"] if one["used"]}}


def set_words(given: Dict[str, Any]) -> List[str]:
    """'CROSSRAIL_SLOTS=2 (environment)' for every setting that is set and holds."""
    return [f"{one['variable']}={one['value']} ({one['from']})" for one in given["given"] if one["used"]]


def wrong_words(given: Dict[str, Any]) -> List[str]:
    """A sentence without a full stop for everything that makes no sense."""
    return [one["wrong"] for one in given["given"] if one["wrong"]]


def check_that_on(done: str) -> None:
    """Raises CliError where crossrail is switched off, so that only the native MPI would be `done`."""
    said = [f"CROSSRAIL={one['value']}, {one['from']}" for one in core.settings_given()["given"] if one["variable"] == "CROSSRAIL"]
    if next(row["value"] for row in core.settings() if row["variable"] == "CROSSRAIL") == "0":
        raise CliError(f"crossrail is switched off ({said[-1]}): nothing but the native MPI would be {done}.")


def file_name_of(variable: str) -> str:
    """'CROSSRAIL_SLOTS' -> 'slots', as configuration files have it; 'CROSSRAIL' -> 'crossrail'."""
    return variable[len("CROSSRAIL_"):].lower() if variable.startswith("CROSSRAIL_") else variable.lower()


def configuration_file(rows: List[Dict[str, str]]) -> str:
    """A configuration file: every setting that a file may have, with its default, behind '#'."""
    lines = ["# Settings of crossrail: lines of 'name = value'. The environment (CROSSRAIL_SLOTS=2) comes before this file, which is",
             "# /etc/crossrail.conf or the one that CROSSRAIL_CONFIG names. Take away the first '#' of a line to change it."]
    for row in rows:
        if row["scope"] in NEVER_IN_FILES:
            continue
        lines += ["", f"# {row['help']}", f"# Takes {KINDS[row['kind']]}; for {SCOPES[row['scope']]}.", f"#{file_name_of(row['variable'])} = {row['preset']}".rstrip()]
    return "\n".join(lines) + "\n"


def settings_page(rows: List[Dict[str, str]]) -> str:
    """docs/settings.md: a Markdown table of all settings below what is true of all."""
    lines = [
        "# Settings", "",
        "Written by `crossrail list --settings --markdown`; a test compares it with the library.", "",
        "A setting is a variable of the environment, `CROSSRAIL_SLOTS=2`, or a line of the configuration file, `slots = 2`. The environment comes before the file.", "",
        "The file is `/etc/crossrail.conf` (its folder is `CROSSRAIL_SYSCONFDIR` of CMake). `CROSSRAIL_CONFIG=FILE` names another one instead;",
        "`CROSSRAIL_CONFIG=none`, or set to nothing, means no file. `#` at the beginning of a line or after a space begins a comment.",
        "An empty value is as none. `crossrail list --conf` prints a file with all settings to begin with.", "",
        "Every process reads the file on its own host. Where a setting is for all ranks, the value of the communicator's rank 0 holds, whatever the others have.",
        "What makes no sense is ignored and told in one sentence by one process of the job; only `CROSSRAIL` itself is off where it cannot be read.",
        "`crossrail doctor` tells what is set, from where, and what is wrong.", "",
        "A program sets what is for all ranks for one communicator by info keys, the variables in lower case: `crossrail_alltoall`, `crossrail_scratch`, `crossrail`.",
        "They are taken from `MPI_Comm_set_info` before the communicator's first collective call, `MPI_Comm_dup_with_info`, `MPI_Comm_idup_with_info`,",
        "`MPI_Comm_split_type` and `MPI_Comm_create_from_group`, in C and in Fortran;",
        "`MPI_Comm_get_info` tells those that hold. They come before environment and file, and rank 0's hold for all,",
        "but for `crossrail_reproducible`, which all ranks must give alike ([why](reproducible.md)).", "",
        "| variable | in a file | takes | default | one for | meaning |", "|---|---|---|---|---|---|"]
    for row in rows:
        name = f"`{file_name_of(row['variable'])}`" if row["scope"] not in NEVER_IN_FILES else "-"
        preset = f"`{row['preset']}`" if row["preset"] else "-"
        meaning = row["help"].replace("|", "\\|")
        lines.append(f"| `{row['variable']}` | {name} | {KINDS[row['kind']]} | {preset} | {SCOPES[row['scope']]} | {meaning} |")
    return "\n".join(lines) + "\n"

"""`crossrail info`, `crossrail list` and `crossrail explain`."""

import json
from pathlib import Path
from typing import Any, Dict, List, Optional

import typer
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from crossrail import core
from crossrail.algorithms import compact
from crossrail.collectives import call_names, find_call, for_help, unknown_size_names
from crossrail.console import out
from crossrail.errors import CliError
from crossrail.machine.lstopo import lstopo_picture
from crossrail.machine.picture import draw_machine
from crossrail.outputs import check_files, write_file
from crossrail.settings_text import SCOPES, configuration_file, origins, set_words, settings_page, wrong_words
from crossrail.sizes import format_size, parse_numbers, parse_size

INFO_HELP = """Show this machine: packages, NUMA domains, cores, caches, GPUs, network cards.

\b
Examples:
  crossrail info
  crossrail info --picture machine.svg
"""
LIST_HELP = """List the algorithms, of one collective if it is named, or the settings.

\b
Examples:
  crossrail list
  crossrail list alltoall
  crossrail list --settings
  crossrail list --conf > crossrail.conf
"""
EXPLAIN_HELP = """Say which algorithm a call would get, and why not the others.

Uses this environment's settings and tuning table. Nothing is run.

\b
Examples:
  crossrail explain alltoall --ranks 56 --bytes 1K
  crossrail explain alltoall --ranks 8 --nodes 2 --bytes 64K
  crossrail explain alltoall --node-of 0,1,0,1 --bytes 16 --in-place
  crossrail explain alltoallv --ranks 56 --nodes 4
  crossrail explain alltoall --ranks 8 --bytes 64K --memory cuda
  crossrail explain ialltoall --ranks 56 --bytes 1K
  CROSSRAIL_ALLTOALL=pairwise crossrail explain alltoall --ranks 8 --bytes 1K
"""

MOST_RANKS = 1_000_000  # more than any machine has
THROUGH_HOST = "the blocks go through host memory, by an algorithm for host memory where there is one"


def machine_tree(machine: Dict[str, Any]) -> Tree:
    """The machine as a tree: processors and caches, then every NUMA domain with its devices."""
    tree = Tree(Text(machine.get("host", "this machine"), "bold"))
    cores = f"{machine.get('cores', '?')} cores, {machine.get('threads', '?')} threads"
    packages = machine.get("packages", 1)
    processor = tree.add(f"{packages} package{'s' if packages != 1 else ''}, {cores}: {machine.get('cpu', 'unknown processor')}")
    for cache in machine.get("caches", []):
        processor.add(f"L{cache['level']} cache: {cache['count']} × {format_size(cache['bytes'])}")
    tree.add(f"memory: {format_size(machine.get('memory_bytes', 0))}")
    for domain in machine.get("domains", []):
        branch = tree.add(f"NUMA domain {domain['number']}: processors {domain['cpus']}, {format_size(domain['memory_bytes'])}")
        add_devices(branch, machine, domain["number"])
    add_devices(tree, machine, None)
    return tree


def add_devices(branch: Tree, machine: Dict[str, Any], domain: Optional[int]) -> None:
    """Adds the GPUs and network cards of a domain; None takes those that belong to no known domain."""
    known = {one["number"] for one in machine.get("domains", [])}
    for kind, label in (("gpus", "GPU"), ("nics", "network card")):
        for device in machine.get(kind, []):
            place = device.get("domain")
            if place == domain or (domain is None and place not in known):
                nearest = device.get("nearest_nics")
                where = f", nearest to {', '.join(nearest)} (same {device['within']})" if nearest else ""
                branch.add(f"{label} {device['name']} {device.get('model', '')}".rstrip() + where)


def info_command(
    picture: Optional[Path] = typer.Option(None, "--picture", help="Write a drawing (SVG) to this file.", show_default=False),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """See INFO_HELP."""
    if picture and picture.suffix.lower() != ".svg":
        raise CliError(f"The drawing is SVG: name a file that ends in .svg, not {picture.name}.")
    check_files(picture)
    machine = core.machine()
    if picture:
        write_file(picture, lstopo_picture() or draw_machine(machine))
        out.print(f"Drawn in {picture}.")
    elif as_json:
        typer.echo(json.dumps(machine, indent=1))
    else:
        out.print(machine_tree(machine))


def parameter_table(rows: List[Dict[str, Any]]) -> Table:
    """The parameters of all algorithms, each once: its default, what it counts, the values worth trying, what it is."""
    table = Table()
    for heading in ("parameter", "default", "in", "worth trying", "what it is"):
        table.add_column(heading, no_wrap=heading == "parameter")
    for one in {one["name"]: one for row in rows for one in row["parameters"]}.values():
        values = ", ".join(compact(value) for value in one["values"])
        table.add_row(one["name"], compact(one["default"]), one["unit"].replace("_", " "), values or "-", one["help"])
    return table


def settings_table() -> Table:
    """Every setting: its value, from where it has it, what it means."""
    table = Table()
    for heading in ("variable", "value", "from", "one for", "what it does"):
        table.add_column(heading, no_wrap=heading == "variable")
    origin = origins(core.settings_given(), core.settings())
    for row in core.settings():
        given = origin.get(row["variable"])
        table.add_row(row["variable"], Text(row["value"] or "-", "bold yellow" if given else ""), given or "default", SCOPES[row["scope"]], row["help"])
    return table


def show_settings() -> None:
    """The settings, and what of those that are given makes no sense."""
    out.print(settings_table())
    for sentence in wrong_words(core.settings_given()):
        out.print(Text(f"{sentence}.", "yellow"))
    out.print("Where one value is for all ranks, it is rank 0's.")


def listed(collective: Optional[str]) -> List[Dict[str, Any]]:
    """The rows of the catalogue, all or those of this call. Raises CliError for one that there is not."""
    name = find_call(collective)[0].name if collective else None
    return [row for row in core.catalogue() if name in (None, row["collective"])]


def algorithms_table(rows: List[Dict[str, Any]]) -> Table:
    """The catalogue."""
    table = Table()
    for heading in ("collective", "memory", "algorithm", "parameters", "what it does"):
        table.add_column(heading, no_wrap=heading == "algorithm")
    for row in rows:
        table.add_row(row["collective"], row["memory"], row["name"], " ".join(one["name"] for one in row["parameters"]) or "-", row["summary"])
    return table


def show_algorithms(rows: List[Dict[str, Any]]) -> None:
    """These rows of the catalogue, and what comes after them."""
    out.print(algorithms_table(rows))
    if any(row["parameters"] for row in rows):
        out.print(parameter_table(rows))
    out.print('After the last candidate comes "native": the call goes, untouched, to the MPI library.')
    if any(row["memory"] == "device" for row in rows):
        out.print(f"After the last one for device memory, {THROUGH_HOST}.")


def list_command(
    collective: Optional[str] = typer.Argument(None, help=f"The algorithms of this call only: {for_help(call_names)}.", show_default=False),
    settings: bool = typer.Option(False, "--settings", help="List the settings: their values, and from where they are."),
    conf: bool = typer.Option(False, "--conf", help="Print a configuration file with all settings and their defaults."),
    markdown: bool = typer.Option(False, "--markdown", help="With --settings: print docs/settings.md."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """See LIST_HELP."""
    if collective and (settings or conf):
        raise CliError(f"Settings are listed for all collectives at once: leave out '{collective}'.")
    if markdown and not settings:
        raise CliError("--markdown is for --settings.")
    if sum((conf, markdown, as_json)) > 1:
        raise CliError("--conf, --markdown and --json are three forms: choose one.")
    if conf:
        typer.echo(configuration_file(core.settings()), nl=False)
    elif settings and markdown:
        typer.echo(settings_page(core.settings()), nl=False)
    elif as_json:
        origin = origins(core.settings_given(), core.settings()) if settings else {}
        rows = [{**row, "from": origin.get(row["variable"], "default")} for row in core.settings()] if settings else listed(collective)
        typer.echo(json.dumps(rows, indent=1))
    elif settings:
        show_settings()
    else:
        show_algorithms(listed(collective))


def node_numbers(ranks: Optional[int], nodes: int, node_of: Optional[str]) -> List[int]:
    """The node of every rank: as listed, or `ranks` spread over `nodes` in blocks. Raises CliError on nonsense."""
    if node_of:
        numbers = parse_numbers(node_of)
        if ranks is not None and ranks != len(numbers):
            raise CliError(f"--node-of lists {len(numbers)} ranks, --ranks says {ranks}.")
        if min(numbers) < 0:
            raise CliError(f"Nodes are numbered from 0 on, not '{node_of}'.")
        return numbers
    if ranks is None:
        raise CliError("Say how many ranks: --ranks 8, or list their nodes: --node-of 0,0,1,1.")
    if not 1 <= ranks <= MOST_RANKS or nodes < 1 or nodes > ranks:
        raise CliError(f"--ranks must be between 1 and {MOST_RANKS}, and --nodes between 1 and the number of ranks.")
    return [rank * nodes // ranks for rank in range(ranks)]


def passed_over_table(others: List[Dict[str, str]]) -> Table:
    """One row for every reason, with the algorithms that it holds for."""
    by_reason: Dict[str, List[str]] = {}
    for other in others:
        by_reason.setdefault(other["why"], []).append(other["algorithm"])
    table = Table()
    for heading in ("algorithms", "why"):
        table.add_column(heading)
    for why, names in by_reason.items():
        table.add_row(", ".join(names), why)
    return table


def show_explanation(answer: Dict[str, Any]) -> None:
    """Prints the choice, then what would come next, then why not the others."""
    out.print(Text.assemble(f"{answer['topology']}: ", (answer["chosen"], "bold green")))
    if answer.get("segment_bytes_per_node"):
        out.print(f"shared memory on each node: {format_size(answer['segment_bytes_per_node'])}")
    if answer.get("warning"):
        out.print(Text(answer["warning"], "bold yellow"))
    out.print(Text("Candidates; the first whose plan does not fail is used:", "bold"))
    table = Table()
    for heading in ("algorithm", "from", "parameters"):
        table.add_column(heading)
    for candidate in answer.get("candidates", []):
        parameters = " ".join(f"{name}={compact(value)}" for name, value in candidate.get("parameters", {}).items())
        table.add_row(candidate["algorithm"], candidate.get("origin", ""), parameters or "-")
    out.print(table)
    if answer.get("passed_over"):
        out.print(Text("Passed over:", "bold"))
        out.print(passed_over_table(answer["passed_over"]))


def explain_through_host(question: core.Question, answer: Dict[str, Any]) -> None:
    """Says what happens to device memory that no algorithm for it carries."""
    if question.memory != "device":
        return
    if not core.algorithm_names(question.collective, "device"):
        out.print(f"{question.collective} has no algorithm for device memory: {THROUGH_HOST}.")
    elif answer["chosen"] == "native":
        out.print(f"No algorithm for device memory is chosen: {THROUGH_HOST}.")


def explain_command(
    collective: str = typer.Argument(..., help=f"The call: {for_help(call_names)}.", show_default=False),
    block: Optional[str] = typer.Option(None, "--bytes", help="Bytes from one rank to one other: 16, 1K, 2M. Of " + for_help(unknown_size_names) + " no rank knows them.", show_default=False),
    ranks: Optional[int] = typer.Option(None, "--ranks", "-n", help="Ranks of the communicator.", show_default=False),
    nodes: int = typer.Option(1, "--nodes", help="Spread the ranks over so many nodes."),
    node_of: Optional[str] = typer.Option(None, "--node-of", help="The node of every rank: 0,0,1,1.", show_default=False),
    in_place: bool = typer.Option(False, "--in-place", help="The call uses MPI_IN_PLACE."),
    no_single_copy: bool = typer.Option(False, "--no-single-copy", help="As if process_vm_readv were forbidden."),
    no_shared_memory: bool = typer.Option(False, "--no-shared-memory", help="As if the ranks could share no memory."),
    memory: str = typer.Option("host", "--memory", help="Where all ranks have their blocks: host, device (or cuda, hip), stream (device memory, in a stream's order)."),
    mpi: str = typer.Option("", "--mpi", help="The MPI library, for rows of one: openmpi4.1.6.", show_default=False),
    ranks_per_device: int = typer.Option(1, "--ranks-per-device", min=1, help="The most ranks that share a device."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """See EXPLAIN_HELP."""
    known, form = find_call(collective)
    if block is None and known.knows_sizes:
        raise CliError("Say how large the blocks are, from one rank to one other: --bytes 1K.")
    question = core.Question(known.name, parse_size(block or "0"), node_numbers(ranks, nodes, node_of), in_place,
                             not no_shared_memory, not no_single_copy, core.memory_kind(memory, also=("stream",)), mpi, ranks_per_device, form)
    answer = core.explain(question)
    if as_json:
        typer.echo(json.dumps(answer, indent=1))
    else:
        words = set_words(core.settings_given())
        if words:
            out.print(Text(f"settings: {', '.join(words)}"))
        show_explanation(answer)
        explain_through_host(question, answer)


def register(app: typer.Typer) -> None:
    """Adds the commands of this file."""
    app.command("info", help=INFO_HELP)(info_command)
    app.command("list", help=LIST_HELP)(list_command)
    app.command("explain", help=EXPLAIN_HELP)(explain_command)

"""What the options of `crossrail tune --simulate` ask for."""

from pathlib import Path
from typing import Any, Dict

from crossrail.errors import CliError
from crossrail.outputs import check_files
from crossrail.settings_text import check_that_on
from crossrail.simulation.machine_file import machine_path, read_machine
from crossrail.simulation.request import check_collective, parse_nodes
from crossrail.sizes import parse_numbers, parse_size, powers
from crossrail.tuning.candidates import parse_algorithms
from crossrail.tuning.simulated import LARGEST, PRESET_NODES, SMALLEST, SimulatedTuning, check
from crossrail.tuning.table import older_rows

WITH_SIMULATE = ("collective", "simulate", "nodes", "ranks_per_node", "smallest", "largest", "algorithms", "output")
ALONE = ("nodes", "ranks_per_node")  # They need --simulate.


def is_simulated(given: Dict[str, str]) -> bool:
    """Returns whether --simulate is among the options that are given, by name, each with its words. Raises CliError for one that does not go with the others."""
    if "simulate" not in given:
        alone = [words for name, words in given.items() if name in ALONE]
        if alone:
            raise CliError(f"{alone[0]} goes with --simulate only; the numbers of ranks to be measured are given by -n 4,16,56.")
        return False
    strange = [words for name, words in given.items() if name not in WITH_SIMULATE]
    if strange:
        raise CliError(f"{strange[0]} makes no sense with --simulate, which starts no MPI jobs and measures nothing.")
    return True


def tuning_of(values: Dict[str, Any], command: str) -> SimulatedTuning:
    """Returns what to simulate. Raises CliError for what makes no sense."""
    collective, file = check_collective(values["collective"]), machine_path(values["simulate"])
    machine = read_machine(file)
    sizes = powers(parse_size(values["smallest"] or SMALLEST), parse_size(values["largest"] or LARGEST))
    ranks = parse_numbers(values["ranks_per_node"] or str(machine.ranks_per_node), "28,56")
    wanted = parse_algorithms(collective, values["algorithms"]) if values["algorithms"] else None
    output = Path(values["output"] or f"simulated_{file.stem}.csv")
    tuning = SimulatedTuning(collective, machine, parse_nodes(values["nodes"] or PRESET_NODES), tuple(dict.fromkeys(ranks)), tuple(sizes), wanted, output, command)
    check(tuning)
    check_that_on("simulated")
    check_files(output, read=[file])
    older_rows(output)
    return tuning

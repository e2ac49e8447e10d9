"""`crossrail performance`: docs/performance.md from bench/results (for maintainers)."""

import json
from pathlib import Path
from typing import List

import typer

from crossrail.cli.console import out
from crossrail.measurements import Measurement, caveats, compare, small_speedup, title, verdict
from crossrail.places import source_tree
from crossrail.problem import Problem
from crossrail.sizes import format_size, format_time_us

BEGIN, END = "<!-- tables: written by 'crossrail performance' from bench/results -->", "<!-- end of tables -->"
NEW_PAGE = f"""# Performance

Native MPI and crossrail take turns in the same run; times are microseconds, the longest over all ranks of one
repetition, medians unless said otherwise.

{BEGIN}
{END}
"""


def markdown_section(measurement: Measurement) -> str:
    """Heading, machine, table, caveats of one measurement."""
    machine = measurement.get("machine", {})
    name = machine.get("name") or machine.get("host", "unnamed machine")
    comparisons = compare(measurement)
    lines = [f"### {title(measurement)}: {name}", "",
             f"{machine.get('cpu', '')} {measurement.get('cores', '?')} cores; {measurement.get('date', '')}, "
             f"crossrail {measurement.get('commit', '')}. {verdict(measurement)}".strip(), ""]
    small = small_speedup(comparisons)
    if small:
        lines += [f"1 B to 1 KiB: **{small:.2f} times faster** (geometric mean).", ""]
    lines += ["| block | native p50 | native p99 | crossrail p50 | crossrail p99 | times faster | algorithm |", "|--:|--:|--:|--:|--:|--:|:--|"]
    for one in comparisons:
        times = [one.native["p50_us"], one.native["p99_us"], one.own["p50_us"], one.own["p99_us"]]
        cells = [format_size(one.bytes), *map(format_time_us, times), f"{one.speedup:.2f}", f"`{one.own['algorithm']}`"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines + [""] + caveats(measurement) + [""])


def replace_tables(page: str, sections: List[str]) -> str:
    """The page with everything between the two marks replaced. Raises Problem when a mark is missing."""
    if BEGIN not in page or END not in page:
        raise Problem(f"docs/performance.md lacks the lines '{BEGIN}' and '{END}'.")
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    return f"{before}{BEGIN}\n\n" + "\n".join(sections) + f"\n{END}{after}"


def performance_command() -> None:
    """Rewrite the tables of docs/performance.md from bench/results/*.json."""
    tree = source_tree()
    if not tree:
        raise Problem("This command needs the source tree.")
    files: List[Path] = sorted((tree / "bench/results").glob("*.json"))
    if not files:
        raise Problem("bench/results holds no measurement; 'crossrail bench alltoall --output bench/results' makes one.")
    page = tree / "docs/performance.md"
    before = page.read_text() if page.exists() else NEW_PAGE
    page.write_text(replace_tables(before, [markdown_section(json.loads(file.read_text())) for file in files]))
    out.print(f"{page}: {len(files)} measurements.")


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command("performance", hidden=True)(performance_command)

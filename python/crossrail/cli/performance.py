"""`crossrail performance`: docs/performance.md and docs/images from bench/results (for maintainers)."""

import json
from pathlib import Path
from typing import List, Sequence, Tuple

import typer

from crossrail.bench.measurements import Measurement, caveats, compare, on_device, reference, small_speedup, times_faster, title, verdict
from crossrail.console import out
from crossrail.errors import CliError
from crossrail.places import source_tree
from crossrail.report.chart import Chart
from crossrail.report.chart_drawing import draw_file
from crossrail.report.design_chart import design_chart
from crossrail.report.device_tables import HEADINGS, device_rows, own_contender
from crossrail.report.measurement_charts import latency_chart
from crossrail.report.process_tables import charts, markdown_lines
from crossrail.sizes import format_size, format_time_us

BEGIN, END = "<!-- tables: written by 'crossrail performance' from bench/results -->", "<!-- end of tables -->"
NEW_PAGE = f"""# Performance

Native MPI and crossrail take turns in the same run; times are microseconds, the longest over all ranks of one
repetition, medians unless said otherwise.

{BEGIN}
{END}
"""


def markdown_table(headings: Sequence[str], rows: List[List[str]], words: Sequence[str]) -> List[str]:
    """The lines of a table; columns named in `words` are aligned to the left."""
    marks = [":--" if heading in words else "--:" for heading in headings]
    return [f"| {' | '.join(cells)} |" for cells in (headings, marks, *rows)]


def host_lines(measurement: Measurement) -> List[str]:
    """The table of a measurement on host memory, against native."""
    comparisons = compare(measurement)
    lines = []
    small = small_speedup(comparisons)
    if small:
        lines += [f"{small.sizes}: **{times_faster(small.mean)}**{small.sort_of_mean}.", ""]
    lines += ["| block | native p50 | native p99 | crossrail p50 | crossrail p99 | times faster | algorithm |", "|--:|--:|--:|--:|--:|--:|:--|"]
    for one in comparisons:
        times = [one.native["p50_us"], one.native["p99_us"], one.own["p50_us"], one.own["p99_us"]]
        cells = [format_size(one.bytes), *map(format_time_us, times), f"{one.speedup:.2f}", f"`{one.own['algorithm']}`"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def device_lines(measurement: Measurement, image: str) -> List[str]:
    """The picture and the table of a measurement on device memory, against the best of NCCL."""
    contender = own_contender(measurement)
    picture = [f"![Time of a call against block size]({image})", ""] if image else []
    if not contender:
        return picture
    headings = [heading.replace("reference", reference(measurement)) for heading in HEADINGS]
    return picture + markdown_table(headings, device_rows(measurement, contender), ("algorithm", "which", "data"))


def markdown_section(measurement: Measurement, images: Sequence[str] = ()) -> str:
    """Heading, machine, table, caveats of one measurement; `images` are the pictures' paths as the page sees them."""
    machine = measurement.get("machine", {})
    name = machine.get("name") or machine.get("host", "unnamed machine")
    lines = [f"### {title(measurement)}: {name}", "",
             f"{machine.get('cpu', '')} {measurement.get('cores', '?')} cores; {measurement.get('date', '')}, "
             f"crossrail {measurement.get('commit', '')}. {verdict(measurement)}".strip(), ""]
    if measurement.get("process_counts"):
        lines += markdown_lines(measurement, list(images))
    else:
        lines += device_lines(measurement, "".join(images)) if on_device(measurement) else host_lines(measurement)
    return "\n".join(lines + [""] + caveats(measurement) + [""])


def replace_tables(page: str, sections: List[str]) -> str:
    """The page with everything between the two marks replaced. Raises CliError when a mark is missing."""
    if BEGIN not in page or END not in page:
        raise CliError(f"docs/performance.md lacks the lines '{BEGIN}' and '{END}'.")
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    return f"{before}{BEGIN}\n\n" + "\n".join(sections) + f"\n{END}{after}"


def pictures_of(measurement: Measurement) -> List[Tuple[str, Chart]]:
    """The charts of a measurement by the number of processes, or on device memory, each with the end of its file's name."""
    if measurement.get("process_counts"):
        return [(f"_{word}", chart) for word, chart in charts(measurement)]
    chart = design_chart if measurement["collective"] == "alltoall" else latency_chart
    return [("", chart(measurement))] if on_device(measurement) else []


def draw_images(measurement: Measurement, name: str, docs: Path) -> List[str]:
    """Writes the pictures of a measurement; returns their paths below docs, without those that have nothing to show."""
    drawn = [(f"images/{name}{end}.svg", draw_file(chart)) for end, chart in pictures_of(measurement)]
    (docs / "images").mkdir(parents=True, exist_ok=True)
    for path, text in drawn:
        if text:
            (docs / path).write_text(text)
    return [path for path, text in drawn if text]


def performance_command() -> None:
    """Rewrite the tables of docs/performance.md, and the pictures in docs/images, from bench/results/*.json."""
    tree = source_tree()
    if not tree:
        raise CliError("This command needs the source tree.")
    files: List[Path] = sorted((tree / "bench/results").glob("*.json"))
    if not files:
        raise CliError("bench/results holds no measurement; 'crossrail bench alltoall --output bench/results' makes one.")
    page = tree / "docs/performance.md"
    before = page.read_text() if page.exists() else NEW_PAGE
    measurements = {file.stem: json.loads(file.read_text()) for file in files}
    page.write_text(replace_tables(before, [markdown_section(one, draw_images(one, name, page.parent)) for name, one in measurements.items()]))
    out.print(f"{page}: {len(files)} measurements.")


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command("performance", hidden=True)(performance_command)

"""What the processes counted, as CSV: one line a process and function."""

import csv
import io
from typing import Any, Dict, List

from crossrail.report.call_reports import JobReport

OF_PROCESS = ("rank", "host", "pid", "wall_seconds", "finished")
OF_CALL = ("name", "interface", "carried", "native", "errors", "seconds", "bytes", "sent_bytes")


def lines(process: Dict[str, Any]) -> List[List[Any]]:
    """The lines of one process."""
    head = [process.get(name, "") for name in OF_PROCESS]
    return [head + [call.get(name, "") for name in OF_CALL] for call in process.get("calls", [])]


def call_csv(report: JobReport) -> str:
    """The whole table with a line of headings; times in seconds, `bytes` of a mean block summed over calls, `sent_bytes` of all blocks."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(OF_PROCESS + OF_CALL)
    for process in sorted(report.processes, key=lambda one: int(one.get("rank", -1))):
        table.writerows(lines(process))
    return text.getvalue()

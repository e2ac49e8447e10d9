"""Running a job with a trace."""

import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, Optional

from crossrail.console import out, warn
from crossrail.errors import CliError
from crossrail.launchers import Job
from crossrail.report.trace import read_parts, trace_sentence, write_trace


def keep_trace(path: Path, folder: Path) -> bool:
    """Makes the trace of what the processes have left; what is wrong is said, the program's exit code matters more. False: it is not written."""
    parts = read_parts(folder)
    if not parts:
        warn(f"{path}: nothing to trace, no process has made a call that crossrail sees.")
        return True
    try:
        write_trace(path, parts, time.time_ns())
    except CliError as error:
        warn(f"{error} What the processes have written stays in {folder}: crossrail trace {folder} FILE.")
        return False
    out.print(trace_sentence(path, parts), soft_wrap=True)
    return True


@contextmanager
def traced(job: Job, path: Optional[Path]) -> Iterator[None]:
    """The job that runs meanwhile leaves a trace in this file, however it ends; None: it leaves none.

    Its processes write beside the file, in a folder that all hosts see if they see the file's.
    """
    if not path:
        yield
        return
    folder = Path(tempfile.mkdtemp(prefix=f"{path.name}.parts.", dir=path.absolute().parent))
    job.environment["CROSSRAIL_TRACE"] = str(folder)
    kept = True
    try:
        yield
    finally:
        try:
            kept = keep_trace(path, folder)
        finally:
            if kept:
                shutil.rmtree(folder, ignore_errors=True)

"""Running a job with a trace."""

import shutil
import tempfile
import time
from pathlib import Path
from typing import Callable, Optional

from crossrail.console import out
from crossrail.errors import EXIT_CODE, CliError
from crossrail.launchers import Job
from crossrail.outputs import result_kept
from crossrail.report.trace import read_parts, trace_sentence, write_trace


def keep_trace(path: Path, folder: Path) -> None:
    """Makes the trace of what the processes have left, which is removed. Raises CliError where there is nothing, or where it cannot be written: then it stays."""
    parts = read_parts(folder)
    if parts:
        try:
            write_trace(path, parts, time.time_ns())
        except CliError as error:
            raise CliError(f"{error} What the processes have written stays in {folder}: crossrail trace {folder} FILE.") from None
        out.print(trace_sentence(path, parts), soft_wrap=True)
    shutil.rmtree(folder, ignore_errors=True)
    if not parts:
        raise CliError(f"{path}: nothing to trace. No process has made a call that crossrail sees, or none could write beside this file.")


def run_traced(job: Job, path: Optional[Path], run: Callable[[], int]) -> int:
    """Runs the job, which leaves a trace in this file, however it ends; None: it leaves none. Returns its exit code, or 2 where only the trace failed.

    Its processes write beside the file, in a folder that all hosts see if they see the file's.
    """
    if not path:
        return run()
    folder = Path(tempfile.mkdtemp(prefix=f"{path.name}.parts.", dir=path.absolute().parent))
    job.environment["CROSSRAIL_TRACE"] = str(folder)
    code = EXIT_CODE
    try:
        code = run()
    finally:
        code = result_kept(lambda: keep_trace(path, folder), code)
    return code

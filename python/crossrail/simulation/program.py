"""This module runs the program crossrail_simulate: it gets the job as text on standard input, and answers with lines of JSON."""

import subprocess
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

from crossrail.errors import CliError
from crossrail.inputs import parse_json, printable
from crossrail.json_shape import Amount, Count, misfit
from crossrail.supervise import GRACE_S, ending, ending_with_parent, exit_code

WRONG_DATA, REFUSED = 1, 2  # These are exit codes of the program.
RESULT = {"algorithm": str, "bytes": Count, "time_us": Amount, "first_us?": Amount, "chosen?": str, "checked?": bool, "sends?": Amount, "queue_pairs?": Amount,
          "sent_bytes?": Amount, "staged_bytes?": Amount, "node_bytes?": Amount, "missed?": Amount, "rank_bytes?": Amount, "messages?": Amount, "wall_s?": Amount}
UNFIT = {"algorithm": str, "bytes": Count, "error": str}
PROGRESS = {"progress": Amount}

Answer = Dict[str, Any]


def parse_answer(line: str) -> Answer:
    """Returns a line of the program. Raises CliError for a line that is none of its answers."""
    try:
        answer = parse_json(line)
    except ValueError:
        answer = None
    shape = PROGRESS if isinstance(answer, dict) and "progress" in answer else UNFIT if isinstance(answer, dict) and "error" in answer else RESULT
    wrong = misfit(answer, shape)
    if wrong:
        raise CliError(f"The program crossrail_simulate has answered with a line that is no result ({wrong}): {printable(line.strip())[:120]}")
    return answer


class Simulation:
    """One run of the program. After `run`, `said` has its sentences, and `over` says whether its time was over before it ended."""

    def __init__(self, program: Path, text: str, seconds: Optional[float]) -> None:
        self.program, self.text, self.seconds = program, text, seconds
        self.said = ""
        self.over = False

    def run(self, hear: Callable[[Answer], None]) -> int:
        """Runs the program, hands every answer to `hear`, and returns the exit code. If an exception comes, the program is ended first."""
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
            try:
                process = subprocess.Popen([str(self.program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, encoding="utf-8", errors="replace",
                                           preexec_fn=ending_with_parent())
            except OSError as error:
                raise CliError(f"'{self.program}' cannot be started: {error.strerror}.") from None
            code = self.attend(process, hear)
            errors.seek(0)
            self.said = errors.read().strip()
        return code

    def attend(self, process: subprocess.Popen, hear: Callable[[Answer], None]) -> int:
        """Writes the input, reads all answers and returns the exit code."""
        timer = threading.Timer(self.seconds, self.end_in_time, [process]) if self.seconds is not None else None
        try:
            if timer:
                timer.start()
            with suppress(BrokenPipeError):
                process.stdin.write(self.text)
                process.stdin.close()
            self.read(process, hear)
            return exit_code(process.wait())
        finally:
            if timer:
                timer.cancel()
            end(process)

    def read(self, process: subprocess.Popen, hear: Callable[[Answer], None]) -> None:
        """Hands over every whole line. The last one may have been cut if the program was ended."""
        for line in process.stdout:
            if line.endswith("\n") and line.strip():
                hear(parse_answer(line))

    def end_in_time(self, process: subprocess.Popen) -> None:
        """Ends the program because its time is over."""
        if process.poll() is None:
            self.over = True
            process.terminate()

    def why(self, code: int) -> str:
        """Returns a sentence about a run that failed: the program's own, or how it ended."""
        sentences = [printable(line) for line in self.said.splitlines() if line.strip()]
        last = sentences[-1].removeprefix("crossrail_simulate: ") if sentences else ""
        sentence = last if code in (WRONG_DATA, REFUSED) and last else f"{ending(code)[:-1]}{f': {last}' if last else ''}"
        return f"{sentence.rstrip('.')}."


def end(process: subprocess.Popen) -> None:
    """Ends the program if it still runs, and closes what leads to it."""
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S)
        if process.poll() is None:
            process.kill()
            process.wait()
    for stream in (process.stdin, process.stdout):
        with suppress(BrokenPipeError):
            stream.close()


def program_text(lines: List[str]) -> str:
    """Returns the input of the program. Raises CliError if a value would be taken for several lines."""
    if any("\n" in line or "\r" in line for line in lines):
        raise CliError("A value has a line break, which the program would take for another line.")
    return "\n".join(lines) + "\n"

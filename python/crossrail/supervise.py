"""Starting a command and waiting for it, as a shell would."""

import os
import signal
import subprocess
from typing import Dict, List, Optional

from crossrail.problem import Problem


def exit_code(returned: int) -> int:
    """A shell's exit code from Popen's: -9 (killed) -> 137."""
    return 128 - returned if returned < 0 else returned


def supervise(command: List[str], environment: Optional[Dict[str, str]] = None, output=None) -> int:
    """Runs the command, passing signals on, and returns its exit code; `output` (a file) takes stdout and stderr.

    Raises Problem when it cannot be started.
    """
    child: List[subprocess.Popen] = []

    def pass_on(number, _frame):
        """Hands a signal to the child."""
        for process in child:
            process.send_signal(number)

    # Ctrl-C reaches the launcher through the terminal; here it must only not end the waiting.
    before = {number: signal.signal(number, handler) for number, handler in
              ((signal.SIGINT, lambda *_: None), (signal.SIGTERM, pass_on), (signal.SIGHUP, pass_on))}
    try:
        child.append(subprocess.Popen(command, env={**os.environ, **(environment or {})}, stdout=output,
                                      stderr=subprocess.STDOUT if output else None))
        return exit_code(child[0].wait())
    except OSError as error:
        raise Problem(f"'{command[0]}' cannot be started: {error.strerror}.") from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

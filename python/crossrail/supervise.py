"""Starting a command and waiting for it, as a shell would."""

import os
import signal
import subprocess
import threading
from typing import Callable, Dict, List, Optional

from crossrail.problem import Problem

GRACE_S = 5.0  # from a signal to the last resort


def exit_code(returned: int) -> int:
    """A shell's exit code from Popen's: -9 (killed) -> 137."""
    return 128 - returned if returned < 0 else returned


def supervise(command: List[str], environment: Optional[Dict[str, str]] = None, output=None,
              last_resort: Optional[Callable[[], None]] = None) -> int:
    """Runs the command, passing signals on, and returns its exit code; `output` (a file) takes stdout and stderr.

    `last_resort` is called when the command still runs GRACE_S after a signal. Raises Problem when the command cannot
    be started.
    """
    child: List[subprocess.Popen] = []
    timers: List[threading.Timer] = []

    def heed(number, _frame):
        """Hands a signal to the child. Ctrl-C has reached it through the terminal."""
        for process in child:
            if number != signal.SIGINT:
                process.send_signal(number)
        if last_resort and not timers:
            timers.append(threading.Timer(GRACE_S, last_resort))
            timers[0].start()

    before = {number: signal.signal(number, heed) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        child.append(subprocess.Popen(command, env={**os.environ, **(environment or {})}, stdout=output,
                                      stderr=subprocess.STDOUT if output else None))
        return exit_code(child[0].wait())
    except OSError as error:
        raise Problem(f"'{command[0]}' cannot be started: {error.strerror}.") from None
    finally:
        for timer in timers:
            timer.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)

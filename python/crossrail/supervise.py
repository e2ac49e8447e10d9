"""Starting a command and waiting for it, as a shell would."""

import ctypes
import os
import signal
import socket
import subprocess
import threading
from contextlib import contextmanager
from typing import Callable, Dict, Iterator, List, Optional

from crossrail.errors import CliError

GRACE_S = 5.0  # from a signal to the last resort
PR_SET_PDEATHSIG = 1


def exit_code(returned: int) -> int:
    """A shell's exit code from Popen's: -9 (killed) -> 137."""
    return 128 - returned if returned < 0 else returned


ENDING_SIGNALS = {one.value: one.name for one in (signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGKILL, signal.SIGSEGV,
                                                  signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGXCPU, signal.SIGSYS)}


def ending(code: int, bare_signals: bool = False) -> str:
    """How a job ended, by the exit code of its launcher: 'The program was ended by signal 11 (SIGSEGV).'; empty where all is well.

    `bare_signals`: of a program that a signal has ended the launcher tells that number instead of 128 more, as Hydra does.
    """
    if code == 0:
        return ""
    name = ENDING_SIGNALS.get(code - 128)
    if name:
        return f"The program was ended by signal {code - 128} ({name})."
    name = ENDING_SIGNALS.get(code) if bare_signals and code > 2 else None
    return f"The program ended with exit code {code}" + (f", or by signal {code} ({name}): this launcher tells either by that number." if name else ".")


def ending_with_parent() -> Callable[[], None]:
    """What a started command does first, so that it is told to end when this process ends, even killed. Launchers then end their ranks."""
    library, parent = ctypes.CDLL(None, use_errno=True), os.getpid()

    def in_child() -> None:
        library.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it has ended before
            os.kill(os.getpid(), signal.SIGTERM)

    return in_child


def supervise(command: List[str], environment: Optional[Dict[str, str]] = None, output=None,
              last_resort: Optional[Callable[[], None]] = None) -> int:
    """Runs the command, passing signals on, and returns its exit code; `output` (a file) takes stdout and stderr.

    `last_resort` is called when the command still runs GRACE_S after a signal. Raises CliError when the command cannot
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
                                      stderr=subprocess.STDOUT if output else None, preexec_fn=ending_with_parent()))
        return exit_code(child[0].wait())
    except OSError as error:
        raise CliError(f"'{command[0]}' cannot be started: {error.strerror}.") from None
    finally:
        for timer in timers:
            timer.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)


def leave_by_exception(number: int, _frame) -> None:
    """A signal becomes SystemExit, with a shell's exit code for it."""
    raise SystemExit(128 + number)


@contextmanager
def leaving_by_exception() -> Iterator[None]:
    """Meanwhile signals that would end this process at once become SystemExit, so that what is temporary is removed. Those that somebody ignores
    (nohup) or takes already are left alone."""
    mine = threading.current_thread() is threading.main_thread()
    taken = [number for number in (signal.SIGTERM, signal.SIGHUP) if mine and signal.getsignal(number) == signal.SIG_DFL]
    for number in taken:
        signal.signal(number, leave_by_exception)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


class Interruptions:
    """Whether a signal that ends programs has come since `with` began, even one that is passed on to a running job."""

    def __enter__(self) -> "Interruptions":
        self.reading, self.writing = socket.socketpair()
        for end in (self.reading, self.writing):
            end.setblocking(False)
        self.before = signal.set_wakeup_fd(self.writing.fileno(), warn_on_full_buffer=False)
        return self

    def __exit__(self, *_problem) -> None:
        signal.set_wakeup_fd(self.before)
        self.reading.close()
        self.writing.close()

    def any(self) -> bool:
        """Whether one has come since this was asked last."""
        try:
            numbers = self.reading.recv(64)
        except BlockingIOError:
            return False
        return bool({signal.SIGINT, signal.SIGTERM, signal.SIGHUP} & set(numbers))

    def stop_if_any(self) -> None:
        """Raises KeyboardInterrupt if one has come."""
        if self.any():
            raise KeyboardInterrupt

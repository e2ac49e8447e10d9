"""The jobs of a tuning run: a bench program for some sizes and contenders."""

import signal
import socket
from dataclasses import replace
from typing import List

from crossrail.measure import BenchRequest, Start, run_bench
from crossrail.measurements import Measurement

SLOWER_THAN_PLANNED = 4  # a job may take so many times its planned time ...
START_S = 20.0  # ... and so many seconds to start, before sizes are left out


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

    def stop_if_any(self) -> None:
        """Raises KeyboardInterrupt if one has come."""
        try:
            numbers = self.reading.recv(64)
        except BlockingIOError:
            return
        if {signal.SIGINT, signal.SIGTERM, signal.SIGHUP} & set(numbers):
            raise KeyboardInterrupt


class JobLaunch:
    """Measures contenders at neighbouring sizes by one job; `request` says everything else. `seconds` must be given there."""

    def __init__(self, request: BenchRequest, start: Start, interruptions: Interruptions) -> None:
        self.request = request
        self.start = start
        self.interruptions = interruptions

    def __call__(self, contenders: List[str], sizes: List[int]) -> Measurement:
        planned = (self.request.seconds or 0.0) * len(contenders) * len(sizes)
        request = replace(self.request, min_bytes=sizes[0], max_bytes=sizes[-1], algorithms=",".join(contenders),
                          most_seconds=START_S + SLOWER_THAN_PLANNED * planned)
        self.interruptions.stop_if_any()
        try:
            return run_bench(request, self.start)
        finally:
            self.interruptions.stop_if_any()  # a job that a signal has ended has not failed

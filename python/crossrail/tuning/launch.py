"""The jobs of a tuning run: a bench program for some sizes and contenders."""

from dataclasses import replace
from typing import List

from crossrail.bench.measurements import Measurement
from crossrail.bench.request import BenchRequest
from crossrail.bench.run import Start, run_bench
from crossrail.supervise import Interruptions

SLOWER_THAN_PLANNED = 4  # a job may take so many times its planned time ...
START_S = 20.0  # ... and so many seconds to start, before sizes are left out


class JobLaunch:
    """Measures contenders at neighbouring sizes by one job; `request` says everything else. `seconds` must be given there."""

    def __init__(self, request: BenchRequest, start: Start, interruptions: Interruptions) -> None:
        self.request = request
        self.start = start
        self.interruptions = interruptions

    def __call__(self, contenders: List[str], sizes: List[int]) -> Measurement:
        planned = (self.request.effort.seconds or 0.0) * len(contenders) * len(sizes)
        what = replace(self.request.what, min_bytes=sizes[0], max_bytes=sizes[-1], contenders=tuple(contenders))
        effort = replace(self.request.effort, most_seconds=START_S + SLOWER_THAN_PLANNED * planned)
        request = replace(self.request, what=what, effort=effort)
        self.interruptions.stop_if_any()
        try:
            return run_bench(request, self.start)
        finally:
            self.interruptions.stop_if_any()  # a job that a signal has ended has not failed

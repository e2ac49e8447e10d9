"""What recorded_calls.c is to leave in its processes' reports under CROSSRAIL_RECORD, call by call."""

WORLD = 4  # This is the number of ranks.


def call(name, comm, sent, received, **more):
    return {"call": name, "form": "blocking", "comm": comm, "in_place": False, "memory": ["host", "host"], "sent": sent, "received": received, **more}


def expected_events(rank):
    mixed = [[1 + (peer + rank) % 2, 0, 1] for peer in range(WORLD)]
    return [
        call("alltoall", 0, [[3, 0, WORLD]], [[3, 0, WORLD]]),
        call("allreduce", 1, [[5, 1, 1]], [], in_place=True, operation="maximum", element="float64"),
        call("alltoallv", 0, mixed, mixed),
        call("alltoallw", 0, [[1, 2, WORLD]], [[1, 2, WORLD]]),
        call("alltoall", 0, [[1, 3, WORLD]], [[1, 3, WORLD]]),
        call("alltoall", 0, [[7, 4, WORLD]], [[7, 4, WORLD]], form="nonblocking"),
        call("alltoall", 0, [[9, 4, WORLD]], [[9, 4, WORLD]], form="nonblocking"),
        {"complete": [1]},
        {"complete": [0]},
        call("alltoall", 2, [], [[1, 0, WORLD]], in_place=True),
    ]


def expected(rank):
    return {
        "calls": 224, "calls_left_out": 0, "several_threads": False,
        "communicators": [{"size": 4, "ranks": [[0, 4, 1]]}, {"size": 2, "ranks": [[rank % 2, 2, 2]]}, {"size": 4, "ranks": [[3, 4, -1]]}],
        "types": [{"bytes": 4}, {"bytes": 8}, {"bytes": 8, "extent": 16, "pieces": [[0, 4, 2, 12]]}, {"bytes": 4800, "extent": 38400}, {"bytes": 1}],
        "events": expected_events(rank),
        "sequence": [(100, [(0, 100), (1, 100)]), (2, 1), (3, 1), (4, 1), (10, [(5, 10), (6, 10), (7, 10), (8, 10)]), (9, 1)],
    }


def without_times(sequence):
    return [(step["times"], without_times(step["body"])) if isinstance(step, dict) else tuple(step[:2]) for step in sequence]


def slept(recorded):
    """Seconds before the reductions: the program sleeps there for 20 ms."""
    return recorded["sequence"][0]["body"][1][2]


def recorded_wrong(reports):
    """What differs, as sentences."""
    wrong = []
    if sorted(report["rank"] for report in reports) != list(range(WORLD)):
        return [f"reports of the ranks {[report['rank'] for report in reports]}"]
    for report in reports:
        recorded = report.get("recorded", {})
        for what, wanted in expected(report["rank"]).items():
            found = without_times(recorded.get(what, [])) if what == "sequence" else recorded.get(what)
            if found != wanted:
                wrong.append(f"rank {report['rank']}: {what} are {found}, not {wanted}")
        if not wrong and not slept(recorded) > 0.019:
            wrong.append(f"rank {report['rank']}: {slept(recorded)} s before the reductions, not 0.02")
    return wrong

"""One call of a trace as a drawing: traces made up by hand."""

import json
import re
import xml.etree.ElementTree as xml

import pytest

from crossrail.cli.app import main
from crossrail.errors import CliError
from crossrail.report.call_timeline import Wanted, read_timeline
from crossrail.report.timeline_drawing import LEFT, LETTER, MOST_LANES, WIDTH, draw_timelines, rows_of, time_ticks

SVG = "{http://www.w3.org/2000/svg}"


def slice_(name, category, began, ended, **args):
    """On a thread of rank 0."""
    return {"name": name, "cat": category, "ph": "X", "ts": began, "dur": ended - began, "pid": 0, "tid": 1, "args": args}


def asynchronous(name, category, began, ended, **more):
    """Begin and end of what is beside the threads. `number`: of its track."""
    common = {"name": name, "cat": category, "id": f"0.{more.pop('number', began)}", "pid": 0, "tid": 1}
    return [{**common, "ph": "b", "ts": began, "args": more}, {**common, "ph": "e", "ts": ended}]


def call(began, ended, size=64, **args):
    return slice_("MPI_Alltoall", "mpi", began, ended, bytes=size, communicator_size=4, **{"algorithm": "pairwise", **args})


def write(path, entries):
    """A trace; returns its path."""
    name = {"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "rank 0 (one)"}}
    path.write_text(json.dumps({"otherData": {"format": "crossrail trace"}, "traceEvents": [name, *entries]}))
    return path


@pytest.fixture
def one_call(tmp_path):
    """With a part of every kind, and others around it."""
    parts = [slice_("pairwise", "phase", 105, 195, block_bytes=16), slice_("wait", "wait", 101, 103, peer=1), slice_("wait for messages", "wait", 130, 190),
             *asynchronous("receive", "message", 110, 180, bytes=16, peer=2), *asynchronous("send", "message", 111, 190, bytes=16, peer=3),
             *asynchronous("exchange", "device", 106, 194, bytes=32)]
    others = [slice_("wait", "wait", 201, 202), *asynchronous("copies", "device", 107, 194), *asynchronous("send", "message", 99, 150, bytes=1), *asynchronous("send", "message", 120, 150, call="0.7"),
              {**slice_("wait", "wait", 140, 150), "tid": 2}, {**slice_("wait", "wait", 141, 150), "pid": 1}]
    return write(tmp_path / "one.json", [call(100, 200), *parts, *others])


def test_a_call_has_its_parts_and_no_others(one_call):
    timeline = read_timeline(one_call, Wanted(0, "MPI_Alltoall"))
    assert [(part.kind, part.began, part.ended, part.bytes, part.peer) for part in timeline.parts] == [
        ("wait", 1, 3, 0, 1), ("phase", 5, 95, 16, None), ("device", 6, 94, 32, None), ("receive", 10, 80, 16, 2), ("send", 11, 90, 16, 3), ("wait", 30, 90, 0, None)]
    assert (timeline.label, timeline.duration, timeline.number, timeline.calls) == ("one", 100, 1, 1)


def test_what_the_device_did_goes_with_what_asked_for_it(tmp_path):
    """Also after the call has returned; what another call has asked for is not in it."""
    on_gpu = [{**slice_("exchange", "on device", began, ended, bytes=32, asked=f"0.{asked}"), "tid": 1_000_000} for began, ended, asked in ((110, 120, 7), (205, 215, 8), (150, 160, 9))]
    path = write(tmp_path / "t.json", [call(100, 200), *asynchronous("exchange", "device", 106, 194, number=7, bytes=32), *asynchronous("copies", "device", 190, 220, number=8, bytes=32),
                                       *asynchronous("exchange", "device", 90, 195, number=9, bytes=32), *on_gpu])
    timeline = read_timeline(path, Wanted(0, "MPI_Alltoall"))
    assert [(part.kind, part.began, part.ended) for part in timeline.parts] == [("device", 6, 94), ("on device", 10, 20), ("device", 90, 120), ("on device", 105, 115)]
    texts = list(texts_of(draw_timelines([timeline])))
    assert [text for text, _, _ in texts].count("on the GPU") == 2 and any("On the GPU: when it did that." in text for text, _, _ in texts)
    assert all(left >= -1 and right <= WIDTH + 1 for _, left, right in texts), texts


def test_the_typical_call_is_of_the_most_common_kind_and_of_median_duration(tmp_path):
    durations = [(900, 8), (50, 64), (10, 64), (90, 64), (1, 8)]
    path = write(tmp_path / "t.json", [call(1000 * at, 1000 * at + duration, size) for at, (duration, size) in enumerate(durations)])
    timeline = read_timeline(path, Wanted(0, "MPI_Alltoall"))
    assert (timeline.number, timeline.calls, timeline.duration) == (2, 5, 50)
    assert read_timeline(path, Wanted(0, "MPI_Alltoall", 1)).duration == 900


def test_a_nonblocking_call_is_shown_whole(tmp_path):
    path = write(tmp_path / "t.json", [slice_("MPI_Ialltoall", "mpi", 10, 12), *asynchronous("MPI_Ialltoall", "pending", 10, 60, number=7, bytes=8),
                                       *asynchronous("linear", "pending", 11, 59, number=7), *asynchronous("wait for messages", "pending", 20, 50, number=7),
                                       *asynchronous("send", "message", 15, 40, bytes=8, peer=1, call="0.7"), *asynchronous("send", "message", 16, 40, bytes=8, peer=1)])
    timeline = read_timeline(path, Wanted(0, "MPI_Ialltoall"))
    assert timeline.duration == 50 and [(part.kind, part.began) for part in timeline.parts] == [("phase", 1), ("send", 5), ("wait", 10)]


def texts_of(picture):
    """(text, its left end, its right end at most) of all of a drawing."""
    for text in xml.fromstring(picture).iter(f"{SVG}text"):
        x, width = float(text.get("x")), LETTER * len(text.text or "")
        left = {"end": x - width, "middle": x - width / 2}.get(text.get("text-anchor"), x)
        yield text.text, left, left + width


def test_everything_has_its_name_and_nothing_is_cut_off(one_call):
    one = read_timeline(one_call, Wanted(0, "MPI_Alltoall"), "<label>")
    picture = draw_timelines([one, read_timeline(one_call, Wanted(0, "MPI_Alltoall"), "x" * 500)])
    texts = list(texts_of(picture))
    words = [text for text, _, _ in texts]
    assert {"<label>", "pairwise", "receive from 2", "send to 3", "exchange, 32 B", "messages", "GPU work", "waits for", "100 µs", "µs since the call began",
            "MPI_Alltoall of rank 0 of 4, call 1 of 1, blocks of 16 B, pairwise, 1 send, 1 receive", "part of the call", "waiting"} <= set(words)
    assert all(left >= -1 and right <= WIDTH + 1 for _, left, right in texts), texts
    assert "wait for rank 1: 1.0 to 3.0 µs" in picture and "prefers-color-scheme: dark" in picture
    colours = {kind: re.search(rf'{kind}[^<]*</title><rect class="fill (c\d)"', picture).group(1) for kind in ("send to", "receive from", "exchange", "wait for messages")}
    assert len(set(colours.values())) == 4


def test_parts_that_overlap_lie_on_lanes_of_their_own(tmp_path):
    def messages(count, overlapping):
        return [entry for at in range(count) for entry in asynchronous("send", "message", at, 999 if overlapping else at + 1, bytes=8, peer=at)]

    for count, overlapping, lanes in ((6, True, 6), (6, False, 6), (3 * MOST_LANES, False, 1), (20 * MOST_LANES, True, 20 * MOST_LANES)):
        timeline = read_timeline(write(tmp_path / "t.json", [call(0, 1000), *messages(count, overlapping)]), Wanted(0, "MPI_Alltoall"))
        row = rows_of(timeline)[1]
        assert len(row.lanes) == lanes and row.height < 1200
        assert all(before.ended <= after.began for lane in row.lanes for before, after in zip(lane, lane[1:]))
        assert ("send to 0" in [text for text, _, _ in texts_of(draw_timelines([timeline]))]) == (count == 6)


def test_calls_of_which_nothing_is_known_inside(tmp_path):
    path = write(tmp_path / "t.json", [call(5, 5, algorithm="native", native_because="it is small", unfinished=True)])
    words = [text for text, left, _ in texts_of(draw_timelines([read_timeline(path, Wanted(0, "MPI_Alltoall"))])) if left >= LEFT - 10]
    assert "Nothing is known of what is inside these calls." in words
    assert "MPI_Alltoall of rank 0 of 4, call 1 of 1, 64 B given, native: it is small, unfinished" in words


@pytest.mark.parametrize("end", [0.001, 0.7, 9.99, 10, 354, 1e6, 1e12])
def test_ticks_are_few_and_round(end):
    ticks = time_ticks(end)
    assert 3 <= len(ticks) <= 11 and ticks[0] == 0 and ticks[-1] <= end * 1.000001
    assert f"{ticks[1]:.3e}"[:5] in ("1.000", "2.000", "5.000")


def test_the_command_draws_a_panel_for_every_trace(one_call, tmp_path, capsys):
    picture = tmp_path / "calls.svg"
    assert main(["timeline", str(one_call), str(one_call), "--label", "[bold]a", "--label", "b", "--number", "1", "--number", "1", "--picture", str(picture)]) == 0
    said = capsys.readouterr().out
    assert "[bold]a: call 1 of 1 of MPI_Alltoall by rank 0, 100 µs" in said and f"Drawn in {picture}." in said
    assert [text for text, _, _ in texts_of(picture.read_text())].count("exchange, 32 B") == 2


@pytest.mark.parametrize("words, sentence", [
    ("{there} --picture {folder}/x.png", "The drawing is SVG: name a file that ends in .svg, not x.png."),
    ("{there} --picture /nosuch/x.svg", "There is no folder /nosuch."),
    ("{there} --picture {folder}/folder.svg", "is a folder; name a file."),
    ("{there}", "Missing option '--picture'"),
    ("--picture {folder}/x.svg", "Missing argument"),
    ("{there} --picture=", "--picture needs the name of a file"),
    ("/nosuch/t.json --picture {folder}/x.svg", "/nosuch/t.json cannot be read: No such file or directory."),
    ("{folder} --picture {folder}/x.svg", "cannot be read: Is a directory."),
    ("{folder}/text.json --picture {folder}/x.svg", "is no JSON: name a file that 'crossrail run --trace' has written."),
    ("{folder}/other.json --picture {folder}/x.svg", "is no trace that 'crossrail run --trace' has written: it has no 'otherData'."),
    ("{folder}/odd.json --picture {folder}/x.svg", "has written: a 'MPI_Alltoall' of rank 0.dur is not a number, 0 or more."),
    ("{folder}/empty.json --rank 3 --picture {folder}/x.svg", "has no rank 3; it has rank 0 only."),
    ("{there} --rank 3 --picture {folder}/x.svg", "has no rank 3; it has 2, from 0 to 1."),
    ("{there} --rank -1 --picture {folder}/x.svg", "--rank"),
    ("{there} --call MPI_Altoall --picture {folder}/x.svg", "has no call of MPI_Altoall by rank 0; it has MPI_Alltoall. Did you mean 'MPI_Alltoall'?"),
    ("{folder}/empty.json --picture {folder}/x.svg", "has no call of MPI_Alltoall by rank 0; it has none at all."),
    ("{there} --number 2 --picture {folder}/x.svg", "has 1 call of MPI_Alltoall by rank 0, and so no number 2."),
    ("{there} --number 0 --picture {folder}/x.svg", "--number"),
    ("{there} {there} --label a --picture {folder}/x.svg", "There are 2 traces, and --label is given once: give it once for each, in their order, or not at all."),
    ("{there} --number 1 --number 1 --picture {folder}/x.svg", "There is 1 trace, and --number is given 2 times"),
    ("{folder}/trace.svg --picture {folder}/trace.svg", "is what is read here: name another file for the result."),
])
def test_wrong_words_are_one_sentence(words, sentence, one_call, tmp_path, capsys):
    (tmp_path / "folder.svg").mkdir()
    (tmp_path / "text.json").write_text("{")
    (tmp_path / "other.json").write_text("{}")
    write(tmp_path / "empty.json", [])
    write(tmp_path / "odd.json", [{**call(0, 1), "dur": -1}])
    (tmp_path / "trace.svg").write_text(one_call.read_text())
    before = sorted(tmp_path.iterdir())
    assert main(["timeline", *words.format(there=one_call, folder=tmp_path).split()]) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.startswith("crossrail: ") and said.count("\n") == 1 and "Traceback" not in said
    assert sorted(tmp_path.iterdir()) == before


def test_what_is_no_number_is_no_trace(one_call):
    one_call.write_text(one_call.read_text().replace('"ts": 100,', '"ts": Infinity,'))
    with pytest.raises(CliError, match="is no JSON"):
        read_timeline(one_call, Wanted(0, "MPI_Alltoall"))

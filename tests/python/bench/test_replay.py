"""Recordings merged, read and turned into what the bench program reads; what its turns say. Nothing is started."""

import copy
import json

import pytest

from crossrail.bench.recording import left_out_sentence, merge, read_recording, write_recording
from crossrail.bench.replay import lines, median_of, replay
from crossrail.bench.replay_program import replay_program
from crossrail.bench.request import Where
from crossrail.cli.app import main
from crossrail.errors import CliError
from crossrail.report.replay_tables import replay_csv, sentences, show_replay, who_is_wrong

CALL = {"call": "alltoall", "form": "blocking", "comm": 0, "in_place": False, "memory": ["host", "host"], "sent": [[3, 0, 2]], "received": [[3, 0, 2]]}


def report(rank):
    recorded = {"calls": 4, "seconds": 0.5, "calls_left_out": rank, "seconds_left_out": 0.25 * rank, "several_threads": False,
                "communicators": [{"size": 2, "ranks": [[1, 2, -1]]}, {"size": 2, "ranks": [[1, 2, -1]]}, {"size": 3, "ranks": []}],
                "types": [{"bytes": 4}, {"bytes": 8, "extent": 16, "pieces": [[0, 4, 2, 12]]}],
                "events": [CALL, {**CALL, "call": "alltoallw", "comm": 1, "form": "nonblocking", "sent": [[1, 1, 2]]}, {"complete": [0]}, {**CALL, "comm": 2}],
                "sequence": [{"times": 2, "body": [[0, 2, 0.5, 0.125], [1, 2, 0, 0], [2, 2, 0, 0]]}, [3, 1, 0, 0]]}
    return {"rank": rank, "world_size": 2, "host": "h", "wall_seconds": 2.0, "finished": True, "crossrail": "0", "program": "./app", "mpi": "x",
            "flavour": "openmpi", "recorded": recorded}


def replayed(native, carried, different=0):
    turns = [[{"inside": [one, 0, 0], "wall": [one]} for one in values] for values in (native, carried)]
    return {"ranks": 2, "names": ["alltoall", "ialltoall", "alltoall_init"], "calls": [200, 0, 0], "native": turns[0], "crossrail": turns[1], "gaps": True,
            "checked_calls": 200, "different": different, "failed": 0, "program": "./app", "wall_seconds": 1.4, "outside_seconds": 1.0}


def test_the_processes_become_one_file(tmp_path):
    recording = write_recording(tmp_path / "calls.json", [report(1), {"rank": -1, "calls": []}, report(0)])
    assert recording == read_recording(tmp_path / "calls.json")
    assert [process["rank"] for process in recording["processes"]] == [0, 1]
    assert left_out_sentence(recording).startswith("1 of 9 calls of all processes, 0.125 s of a process")


def test_types_of_more_pieces_than_are_recorded_are_rows_of_bytes(tmp_path):
    reports = [report(1), report(0)]
    for one in reports:
        del one["recorded"]["types"][1]["pieces"]
    write_recording(tmp_path / "calls.json", reports)
    assert "type 8 16 0" in replay_program(read_recording(tmp_path / "calls.json"))


def test_the_bench_program_reads_communicators_by_their_order_on_all_ranks():
    text = replay_program(merge([report(0), report(1)]))
    part = text.split("rank\n")[1].splitlines()
    assert part == ["comm 0 0 2 1 0", "comm 1 1 2 1 0", "comm 2 0 0", "type 4 4 0", "type 8 16 1 0 4 2 12",
                    "call alltoall blocking 0 0 none none 1 3 0 2 1 3 0 2", "call alltoallw nonblocking 1 0 none none 1 1 1 2 1 3 0 2", "complete 1 0",
                    "call alltoall blocking 2 0 none none 1 3 0 2 1 3 0 2",
                    "steps", "[ 2", "e 0 0.250000000", "e 1 0.000000000", "e 2 0.000000000", "]", "e 3 0.000000000", "end"]
    assert text.count("rank\n") == 2


@pytest.mark.parametrize("change, sentence", [
    (lambda one: one["recorded"].update(sequence=[]), "1 recordings of 2 ranks"),
    (lambda one: one.update(rank=0), "several jobs"),
    (lambda one: one["recorded"].update(several_threads=True), "Several threads"),
    (lambda one: one["recorded"]["events"][0].update(memory=["device", "host"]), "device memory"),
    (lambda one: one["recorded"].pop("types"), "damaged"),
])
def test_what_cannot_be_replayed_is_said(change, sentence):
    reports = [copy.deepcopy(report(0)), copy.deepcopy(report(1))]
    change(reports[1])
    with pytest.raises(CliError, match=sentence):
        replay_program(merge(reports))


def test_other_numbers_of_ranks_are_refused():
    with pytest.raises(CliError, match="2 ranks were recorded"):
        replay(merge([report(0), report(1)]), Where(3))


def test_intervals_hold_the_median_in_95_of_100_cases():
    assert (median_of([3, 1, 2]).low, median_of([3, 1, 2]).value) == (None, 2)
    six = median_of([6, 5, 4, 3, 2, 1])
    assert (six.low, six.value, six.high) == (1, 3.5, 6)
    nine = median_of(list(range(1, 10)))
    assert (nine.low, nine.high) == (2, 8)


def test_what_it_would_give_the_program():
    faster = replayed([0.5, 0.6, 0.5, 0.5, 0.5, 0.5], [0.25] * 6)
    one, everything = lines(faster)
    assert (one.name, one.calls, one.certain, everything.name) == ("MPI_Alltoall", 100, True, "all")
    said = sentences(faster)
    assert "1.500 s natively, 1.250 s with crossrail: +0.250 s, +16.7 % of the run" in said[0]
    assert "all are the same" in said[-1]
    assert "no difference beyond noise" in sentences(replayed([0.5] * 3 + [0.4] * 3, [0.45] * 6))[1]
    assert "WRONG: 3 results differ" in " ".join(sentences(replayed([1.0], [1.0], different=3)))
    assert replay_csv(faster).splitlines()[1].startswith("MPI_Alltoall,100,0.5,0.5,0.6,0.25,")


def test_nothing_is_concluded_from_few_turns():
    said = " ".join(sentences(replayed([0.5], [0.25])))
    assert "1.500 s natively, 1.250 s with crossrail. How much of the difference is noise cannot be told from fewer than 6 turns" in said and "%" not in said


@pytest.mark.parametrize("carried, wall, words", [(0.9, 1.4, "spent 0.4 s, the replay with crossrail 0.9 s: this machine is busier"),
                                                  (0.1, 1.4, "spent 0.4 s, the replay with crossrail 0.1 s: ranks waited"), (0.7, 1.4, ""), (0.001, 1.004, "")])
def test_nothing_is_concluded_for_another_situation(carried, wall, words):
    said = " ".join(sentences({**replayed([0.5] * 6, [carried] * 6), "wall_seconds": wall}))
    assert (words in said and "nothing is concluded" in said and "%" not in said) if words else ("% of the run" in said and "concluded" not in said)


def test_one_turn_is_once(capsys):
    show_replay(replayed([0.5], [0.25]))
    show_replay(replayed([0.5] * 2, [0.25] * 2))
    said = " ".join(capsys.readouterr().out.split())
    assert "replayed once natively and once with crossrail" in said and "replayed 2 times natively and 2 times with crossrail" in said


@pytest.mark.parametrize("change, sentence", [
    ({"ranks": 1_000_000_000}, "it is of 1000000000 ranks and has the calls of 2"), ({"flavour": "foo"}, "flavour is none of openmpi, mpich, abi"),
    ({"wall_seconds": -5}, r"processes[1].wall_seconds is not a number, 0 or more"), ({"wall_seconds": float("nan")}, "is no JSON"),
    ({"calls": -1}, "processes[1].calls is not a whole number, 0 or more"), ({"seconds": 10 ** 400}, "seconds is not a number"),
    ({"communicators": [{"ranks": [[0, 1_000_000_000, 0]]}]}, "a communicator of rank 1"), ({"sequence": [[0, 0, 0, 0]]}, "The recording is damaged: a step [0, 0, 0, 0] makes no sense."),
    ({"sequence": [10 ** 30]}, "The recording is damaged: the calls of a process are not written as they should be."),
    ({"sequence": [["x"]]}, "The recording is damaged: the calls of a process are not written as they should be."), ({"events": [{}]}, "The recording is damaged: 'memory' is missing.")])
def test_damaged_recordings_are_refused_at_once(change, sentence, tmp_path, capsys):
    recording = merge([report(0), report(1)])
    recording.update((name, value) for name, value in change.items() if name in recording)
    recording["processes"][1].update((name, value) for name, value in change.items() if name not in recording)
    (tmp_path / "calls.json").write_text(json.dumps(recording))
    assert main(["replay", str(tmp_path / "calls.json")]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_a_deep_file_is_refused(tmp_path, capsys):
    (tmp_path / "deep.json").write_text("[" * 100_000)
    assert main(["replay", str(tmp_path / "deep.json")]) == 2 and main(["report", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "deep.json is no JSON" in said and "deep.json is none, or incomplete" in said


@pytest.mark.parametrize("option", ["--output", "--csv"])
def test_the_recording_is_not_written_over(option, tmp_path, capsys):
    file, other = tmp_path / "calls.json", tmp_path / "link.json"
    file.write_text(json.dumps(merge([report(0), report(1)])))
    other.symlink_to(file)
    before = file.read_text()
    assert main(["replay", str(file), option, str(other)]) == 2
    assert "is what is read here" in capsys.readouterr().err and file.read_text() == before


@pytest.mark.parametrize("content, sentence", [
    (None, "cannot be read: No such file"), ("{", "is no JSON"), ("[]", "holds no recorded calls"), ('{"format":"other"}', "holds no recorded calls"),
    ('{"format":"crossrail recorded calls","version":99}', "is of version 99")])
def test_files_that_are_no_recording(content, sentence, tmp_path, capsys):
    if content is not None:
        (tmp_path / "calls.json").write_text(content)
    assert main(["replay", str(tmp_path / "calls.json")]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("words, sentence", [
    (["replay"], "Missing argument"), (["replay", "{file}", "-n", "3"], "2 ranks were recorded"), (["replay", "{file}", "--mpi", "intel"], "no flavour"),
    (["replay", "{file}", "--csv", "/nosuch/x.csv"], "There is no folder /nosuch"), (["replay", "{file}", "--turns", "0"], "0 is not in the range"),
    (["run", "--record", "/nosuch/calls.json", "--mpi", "openmpi", "--launcher", "/bin/false", "--", "/bin/true"], "names neither")])
def test_wrong_words_of_replay(words, sentence, tmp_path, capsys):
    file = tmp_path / "calls.json"
    file.write_text(json.dumps(merge([report(0), report(1)])))
    assert main([word.format(file=file) for word in words]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_who_is_wrong_is_said():
    assert who_is_wrong(replayed([1], [1])) == []
    said = who_is_wrong({**replayed([1], [1], different=3), "native_wrong": [2, 0, 0], "crossrail_wrong": [0, 1, 0]})
    assert said == ["Compared with the definition of the calls, the MPI library's own results are wrong in 2 of MPI_Alltoall.",
                    "Compared with the definition of the calls, crossrail's results are wrong in 1 of MPI_Ialltoall."]

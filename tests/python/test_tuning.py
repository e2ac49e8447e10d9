"""What `crossrail tune` decides, from measurements made up with noise."""

import json
import random

import pytest

from crossrail import tuning_campaign, tuning_candidates
from crossrail.problem import Problem
from crossrail.tuning_campaign import Campaign, Goal, Surroundings
from crossrail.tuning_candidates import Layout, compact, effect, parse_spec, spec_of
from crossrail.tuning_decision import Ground, Range, beats, decide, decide_once, quantile, unify, winner_of, worth_measuring
from crossrail.tuning_record import Record
from crossrail.tuning_table import Tuned, all_rows, kept_rows, spans, write_table

ROUNDS = 5
SIZES = [1 << power for power in range(13)]
ALGORITHMS = ["bruck", "pairwise", "linear", "node_shared packet=512", "node_shared packet=1K"]


def steady(*values):
    """The times of a contender by round."""
    return dict(enumerate(values))


def measured(truth, noise, seed=1):
    """Times by size: `truth` gives a contender's microseconds at a size; each round has a speed of its own."""
    rng = random.Random(seed)
    sizes = {}
    for size in SIZES:
        sizes[size] = {name: {} for name in ["native", "auto", *ALGORITHMS]}
        for turn in range(2 * ROUNDS):
            speed = rng.uniform(0.7, 1.5)
            for name, times in sizes[size].items():
                times[turn] = truth(name, size) * speed * rng.lognormvariate(0, noise)
    return sizes


def ground(now="pairwise"):
    """The table in force says the same at every size."""
    return Ground(ROUNDS, {size: now for size in SIZES})


def test_the_right_winners_in_spite_of_noise():
    def truth(name, size):
        if name in ("bruck", "native"):
            return {"bruck": 10, "native": 14}[name] * (1 if size <= 64 else 4)
        return 12 if name in ("auto", "pairwise") else 40

    found = decide(measured(truth, 0.03), ground())
    assert [(one.low, one.high, one.winner, one.now) for one in found] == [(1, 64, "bruck", "pairwise"), (128, 4096, "pairwise", "pairwise")]
    assert 1.15 < found[0].gain < 1.25 and found[1].gain == 1.0


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.03])
@pytest.mark.parametrize("seed", range(5))
def test_nothing_changes_when_all_is_noise(noise, seed):
    found = decide(measured(lambda name, size: 10, noise, seed), ground())
    assert [(one.low, one.high, one.winner) for one in found] == [(1, 4096, "pairwise")]


def test_native_wins_where_it_is_faster():
    found = decide(measured(lambda name, size: 8 if name == "native" and size > 256 else 10, 0.02), ground())
    assert [(one.low, one.high, one.winner) for one in found] == [(1, 256, "pairwise"), (512, 4096, "native")]


def test_a_challenger_must_beat_native_too():
    def truth(name, size):
        return {"native": 8.0, "bruck": 7.9}.get(name, 10.0)

    assert [one.winner for one in decide(measured(truth, 0.02), ground())] == ["native"]


def test_a_size_alone_keeps_its_winner_for_a_large_gain_only():
    def truth(gain):
        return lambda name, size: 10 / gain if name == "bruck" and size == 64 else 10 if name in ("auto", "native") else 20

    assert [one.winner for one in decide(measured(truth(1.04), 0.002), ground())] == ["pairwise"]
    assert [one.winner for one in decide(measured(truth(1.2), 0.002), ground())] == ["pairwise", "bruck", "pairwise"]


def test_what_is_found_must_be_confirmed():
    sizes = measured(lambda name, size: 10, 0.0)
    for times in sizes.values():
        for turn in range(ROUNDS):
            times["bruck"][turn] /= 2
    assert [one.winner for one in decide(sizes, ground())] == ["pairwise"]


def test_a_gain_smaller_than_the_spread_is_none():
    times = {"auto": steady(10, 10, 10, 10, 10), "bruck": steady(9, 9, 6, 9.9, 5)}
    assert beats({**times, "bruck": steady(9, 9, 9, 9, 9)}, "bruck", "auto")
    assert not beats({**times, "bruck": steady(9.5, 9.9, 9, 7, 5)}, "bruck", "auto")
    assert not beats({**times, "bruck": steady(9, 9)}, "bruck", "auto")
    assert not beats({**times, "bruck": steady(9.8, 9.8, 9.8, 9.8, 9.8)}, "bruck", "auto")
    assert quantile([3.0, 1.0, 2.0], 0.5) == 2.0 and quantile([1.0, 2.0], 0.25) == 1.25


def test_the_winner_before_stays_where_the_best_is_hardly_better():
    times = {"auto": steady(10, 10, 10), "native": steady(20, 20, 20), "bruck": steady(8, 8, 8), "linear": steady(7.9, 7.9, 7.9)}
    assert winner_of(times, "pairwise") == "linear"
    assert winner_of(times, "pairwise", "bruck") == "bruck"


def test_one_winner_for_all_sizes_where_ranks_do_not_know_them():
    def truth(name, size):
        return {"bruck": 6.0 if size <= 512 else 11.0, "linear": 8.0}.get(name, 10.0)

    found = decide_once(measured(truth, 0.02), ground("native"))
    assert [(one.low, one.high, one.winner, one.now) for one in found] == [(1, 4096, "bruck", "native")]
    assert decide_once({}, ground("native")) == []


def test_hopeless_and_near():
    times = {"auto": steady(10), "native": steady(12), "bruck": steady(29), "linear": steady(31)}
    assert worth_measuring([times], "bruck", 1) and not worth_measuring([times], "linear", 1)
    assert not worth_measuring([times], "bruck", 3) and not worth_measuring([times], "pairwise", 1)


def test_the_same_doing_has_one_name():
    layout = Layout(4, 1, 4)
    small, large = "node_shared packet=512", "node_shared packet=2K"

    def same(size):
        return effect("alltoall", layout, small, size) == effect("alltoall", layout, large, size)

    assert [same(size) for size in (128, 256, 512, 1024)] == [True, False, False, True]
    assert effect("alltoall", layout, "scatter_destination throttle=4", 1) == effect("alltoall", layout, "scatter_destination", 1)
    assert effect("alltoall", Layout(4, 2, 2), "leader_pipelined leaders=8", 1) == effect("alltoall", Layout(4, 2, 2), "leader_pipelined ahead=16 leaders=2", 1)
    where = Ground(ROUNDS, {}, lambda spec, size: effect("alltoall", layout, spec, size))
    assert unify(where, {128: small, 256: large, 512: large, 1024: small}) == {128: large, 256: large, 512: large, 1024: large}


def test_the_words_for_an_algorithm():
    assert spec_of("node_shared", {"packet": 2048, "chunk": 1000}) == "node_shared chunk=1000 packet=2K"
    assert parse_spec(" node_shared  packet=2048 chunk=1000") == "node_shared chunk=1000 packet=2K"
    assert [compact(number) for number in (512, 1024, 1 << 20, 1 << 31)] == ["512", "1K", "1M", "2G"]
    with pytest.raises(Problem):
        parse_spec("node_shared packet")


def test_the_rows_of_a_table(tmp_path):
    assert spans({4, 16, 56}) == {4: "4-8", 16: "9-29", 56: "30-56"} and spans({4}) == {4: "4"} and spans({4, 5}) == {4: "4", 5: "5"}
    few = Tuned("alltoall", Layout(4, 1, 4), [Range(1, 32, "bruck", "native", 2.0), Range(64, 64, "bruck", "linear", 2.0), Range(128, 8192, "native", "native", 1.0)])
    many = Tuned("alltoallv", Layout(8, 2, 4), [Range(1, 64, "node_shared direct=8K", "native", 2.0)], any_size=True)
    rows = all_rows([many, few])
    assert rows == ["alltoall,host,1,4,64,bruck,", "alltoall,host,1,4,8K,native,", "alltoallv,host,2,4,*,node_shared,direct=8K"]
    assert kept_rows("# old\nalltoall,host,1,4,*,linear,\nalltoall,host,1,8,*,linear,  # why\n", rows) == ["alltoall,host,1,8,*,linear,"]
    path = tmp_path / "table.csv"
    assert write_table(path, ["from here"], [few]) == 0 and write_table(path, ["from there"], [many]) == 2
    assert path.read_text().splitlines()[:3] == ["# from there", "collective,memory,nodes,ranks_per_node,up_to_bytes,algorithm,parameters", rows[2]]


def test_a_record_goes_on_where_it_stopped(tmp_path):
    path = tmp_path / "record.jsonl"
    Record(path, {"hosts": 2}, resume=False).keep("a", [1])
    with open(path, "a", encoding="utf-8") as file:
        file.write('{"key": "b", "val')  # killed while writing
    again = Record(path, {"hosts": 2}, resume=True)
    assert again.get("a") == [1] and again.get("b") is None
    again.keep("b", 2)
    assert [json.loads(line)["key"] for line in path.read_text().splitlines()] == ["about", "a", "b"]
    with pytest.raises(Problem, match="--resume"):
        Record(path, {"hosts": 2}, resume=False)
    with pytest.raises(Problem, match="hosts was 2, now it is 3"):
        Record(path, {"hosts": 3}, resume=True)


class Machine:
    """Stands for the bench program: `truth` gives microseconds; `wrong` and `crashing` are algorithms that are broken."""

    def __init__(self, truth, wrong=(), crashing=(), stop_after=None):
        self.truth, self.wrong, self.crashing, self.stop_after = truth, wrong, crashing, stop_after
        self.jobs = []

    def __call__(self, contenders, sizes):
        if self.stop_after is not None and len(self.jobs) >= self.stop_after:
            raise KeyboardInterrupt
        self.jobs.append((contenders, sizes))
        if set(contenders) & set(self.crashing):
            raise Problem("The bench program failed (exit code 139).")
        results = [{"bytes": size, "contender": name, "algorithm": {"auto": "pairwise"}.get(name, name.split()[0]),
                    "p50_us": self.truth(name, size), "wrong": 3 * (name in self.wrong)} for size in sizes for name in contenders]
        return {"nodes": 1, "ranks_per_node": 4, "mpi": "MPI", "results": results}


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    """A campaign on a made-up machine; its complaints are in `complaints`."""
    monkeypatch.setattr(tuning_campaign, "candidates", lambda *_: list(ALGORITHMS))
    monkeypatch.setattr(tuning_campaign, "chosen_now", lambda *_: "pairwise")
    path = tmp_path / "record.jsonl"

    def make(machine, resume=False):
        complaints = []
        made = Campaign(Goal("alltoall", 4, SIZES, 3), Surroundings(machine, Record(path, {}, resume), complain=complaints.append))
        made.complaints = complaints
        return made

    return make


def plain(name, size):
    """bruck for small blocks, native for large; linear hopeless up to 128 bytes."""
    if name == "linear":
        return 100 if size <= 128 else 5
    return {"bruck": 8 if size <= 128 else 20, "native": 12}.get(name, 10)


def test_a_campaign_finds_the_winners(campaign):
    machine = Machine(plain)
    one = campaign(machine)
    one.run()
    assert [(each.high, each.winner) for each in one.ranges()] == [(128, "bruck"), (4096, "linear")]
    begins = {contenders[0] for contenders, sizes in machine.jobs if sizes[0] == 1 and len(contenders) > 1}
    assert len(begins) > 2  # the order rotates
    assert not any("linear" in contenders for contenders, sizes in machine.jobs[2:] if sizes == [1, 2, 4, 8])


def test_an_interrupted_campaign_goes_on(campaign):
    whole = Machine(plain)
    one = campaign(whole)
    one.run()
    expected = one.ranges()
    one.around.record.path.unlink()
    first = Machine(plain, stop_after=7)
    with pytest.raises(KeyboardInterrupt):
        campaign(first).run()
    second = Machine(plain)
    other = campaign(second, resume=True)
    other.run()
    assert other.ranges() == expected and len(first.jobs) + len(second.jobs) == len(whole.jobs)


def test_wrong_bytes_and_crashes_disqualify_loudly(campaign):
    one = campaign(Machine(plain, wrong=["bruck"], crashing=["linear"]))
    one.run()
    assert set(one.disqualified) == {"bruck", "linear"} and len(one.complaints) == 2
    assert "3 blocks were wrong at 1 B" in "".join(one.complaints) and "exit code 139" in "".join(one.complaints)
    assert [each.winner for each in one.ranges()] == ["pairwise"]
    again = campaign(Machine(plain, stop_after=0), resume=True)
    again.run()
    assert again.disqualified == one.disqualified


def test_nothing_can_be_tuned_where_the_present_choice_is_wrong(campaign):
    with pytest.raises(Problem, match="auto .pairwise., 4 ranks: 3 blocks were wrong"):
        campaign(Machine(plain, wrong=["auto"])).run()


def test_candidates_are_what_fits_with_its_variants(monkeypatch):
    rows = [{"collective": "alltoall", "name": name, "summary": ""} for name in ("linear", "node_shared", "leader_pipelined")]
    monkeypatch.setattr(tuning_candidates.core, "catalogue", lambda: rows)
    monkeypatch.setattr(tuning_candidates.core, "explain", lambda question: {
        "candidates": [{"algorithm": "bruck", "origin": "setting"}, {"algorithm": "node_shared", "origin": "default.csv:8", "parameters": {"packet": 512}}],
        "passed_over": [{"algorithm": "leader_pipelined", "why": "does not fit this layout and size"}, {"algorithm": "linear", "why": "no row"}]})
    layout = Layout(4, 1, 4)
    found = tuning_candidates.candidates
    assert found("alltoall", layout, 256) == ["linear", "node_shared packet=512", "node_shared packet=1K"]
    assert found("alltoall", layout, 4096) == ["linear", "node_shared packet=512"]
    assert found("alltoall", layout, 64, ["node_shared chunk=4K", "leader_pipelined"]) == ["node_shared chunk=4K"]
    assert tuning_candidates.chosen_now("alltoall", layout, 1) == "node_shared packet=512"
    assert tuning_candidates.chosen_now("alltoall", layout, 1, "native") == "native"
    with pytest.raises(Problem):
        tuning_candidates.parse_algorithms("alltoall", "node_share")

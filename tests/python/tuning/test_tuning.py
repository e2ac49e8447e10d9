"""What `crossrail tune` decides, from measurements made up with noise."""

import json
import random

import pytest

from crossrail.algorithms import compact, parse_spec, spec_of
from crossrail.errors import CliError
from crossrail.tuning import campaign as tuning_campaign
from crossrail.tuning.campaign import Campaign, Context, Goal
from crossrail.tuning.candidates import Layout
from crossrail.tuning.decision import Evidence, Range, beats, decide, decide_once, winner_of, worth_measuring
from crossrail.tuning.record import Record
from crossrail.tuning.table import Tuned, all_rows, kept_rows, read_rows, spans, write_table

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


def evidence(now="pairwise"):
    """The table in force says the same at every size."""
    return Evidence(ROUNDS, {size: now for size in SIZES})


def test_the_right_winners_in_spite_of_noise():
    def truth(name, size):
        if name in ("bruck", "native"):
            return {"bruck": 10, "native": 14}[name] * (1 if size <= 64 else 4)
        return 12 if name in ("auto", "pairwise") else 40

    found = decide(measured(truth, 0.03), evidence())
    assert [(one.low, one.high, one.winner, one.now) for one in found] == [(1, 64, "bruck", "pairwise"), (128, 4096, "pairwise", "pairwise")]
    assert 1.15 < found[0].gain < 1.25 and found[1].gain == 1.0


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.03])
@pytest.mark.parametrize("seed", range(5))
def test_nothing_changes_when_all_is_noise(noise, seed):
    found = decide(measured(lambda name, size: 10, noise, seed), evidence())
    assert [(one.low, one.high, one.winner) for one in found] == [(1, 4096, "pairwise")]


def test_native_wins_where_it_is_faster():
    found = decide(measured(lambda name, size: 8 if name == "native" and size > 256 else 10, 0.02), evidence())
    assert [(one.low, one.high, one.winner) for one in found] == [(1, 256, "pairwise"), (512, 4096, "native")]


def test_a_challenger_must_beat_native_too():
    def truth(name, size):
        return {"native": 8.0, "bruck": 7.9}.get(name, 10.0)

    assert [one.winner for one in decide(measured(truth, 0.02), evidence())] == ["native"]


def test_a_size_alone_keeps_its_winner_for_a_large_gain_only():
    def truth(gain):
        return lambda name, size: 10 / gain if name == "bruck" and size == 64 else 10 if name in ("auto", "native") else 20

    assert [one.winner for one in decide(measured(truth(1.04), 0.002), evidence())] == ["pairwise"]
    assert [one.winner for one in decide(measured(truth(1.2), 0.002), evidence())] == ["pairwise", "bruck", "pairwise"]


def test_what_is_found_must_be_confirmed():
    sizes = measured(lambda name, size: 10, 0.0)
    for times in sizes.values():
        for turn in range(ROUNDS):
            times["bruck"][turn] /= 2
    assert [one.winner for one in decide(sizes, evidence())] == ["pairwise"]


def test_a_gain_smaller_than_the_spread_is_none():
    times = {"auto": steady(10, 10, 10, 10, 10), "bruck": steady(9, 9, 6, 9.9, 5)}
    assert beats({**times, "bruck": steady(9, 9, 9, 9, 9)}, "bruck", "auto")
    assert not beats({**times, "bruck": steady(9.5, 9.9, 9, 7, 5)}, "bruck", "auto")
    assert not beats({**times, "bruck": steady(9, 9)}, "bruck", "auto")
    assert not beats({**times, "bruck": steady(9.8, 9.8, 9.8, 9.8, 9.8)}, "bruck", "auto")


def test_the_winner_before_stays_where_the_best_is_hardly_better():
    times = {"auto": steady(10, 10, 10), "native": steady(20, 20, 20), "bruck": steady(8, 8, 8), "linear": steady(7.9, 7.9, 7.9)}
    assert winner_of(times, "pairwise") == "linear"
    assert winner_of(times, "pairwise", "bruck") == "bruck"


def test_one_winner_for_all_sizes_where_ranks_do_not_know_them():
    def truth(name, size):
        return {"bruck": 6.0 if size <= 512 else 11.0, "linear": 8.0}.get(name, 10.0)

    found = decide_once(measured(truth, 0.02), evidence("native"))
    assert [(one.low, one.high, one.winner, one.now) for one in found] == [(1, 4096, "bruck", "native")]
    assert decide_once({}, evidence("native")) == []


def test_hopeless_and_near():
    times = {"auto": steady(10), "native": steady(12), "bruck": steady(29), "linear": steady(31)}
    assert worth_measuring([times], "bruck", 1) and not worth_measuring([times], "linear", 1)
    assert not worth_measuring([times], "bruck", 3) and not worth_measuring([times], "pairwise", 1)


def test_the_words_for_an_algorithm():
    assert spec_of("node_shared", {"packet": 2048, "chunk": 1000}) == "node_shared chunk=1000 packet=2K"
    assert parse_spec(" node_shared  packet=2048 chunk=1000") == "node_shared chunk=1000 packet=2K"
    assert [compact(number) for number in (512, 1024, 1 << 20, 1 << 31)] == ["512", "1K", "1M", "2G"]
    with pytest.raises(CliError):
        parse_spec("node_shared packet")


def test_the_rows_of_a_table(tmp_path):
    assert spans({4, 16, 56}) == {4: "4-8", 16: "9-29", 56: "30-56"} and spans({4}) == {4: "4"} and spans({4, 5}) == {4: "4", 5: "5"}
    few = Tuned("alltoall", Layout(4, 1, 4), [Range(1, 32, "bruck", "native", 2.0), Range(64, 64, "bruck", "linear", 2.0), Range(128, 8192, "native", "native", 1.0)])
    many = Tuned("alltoallv", Layout(8, 2, 4, mpi="openmpi4.1.6"), [Range(1, 64, "node_shared direct=8K", "native", 2.0)], any_size=True)
    rows = all_rows([many, few])
    assert [",".join(row) for row in rows] == ["alltoall,host,*,1,4,*,64,bruck,", "alltoall,host,*,1,4,*,8K,native,",
                                                "alltoallv,host,openmpi,2,4,*,*,node_shared,direct=8K"]
    assert kept_rows(read_rows("# old\nalltoall,host,1,4,*,linear,\nalltoall,host,1,8,*,linear,  # why\n"), rows) == [["alltoall", "host", "*", "1", "8", "*", "*", "linear", ""]]
    assert kept_rows(read_rows("nodes,collective,memory,algorithm,mpi,ranks_per_node,up_to_bytes\n1,alltoall,host,bruck,mpich5-,8,1K\n"), rows) == [
        ["alltoall", "host", "mpich5-", "1", "8", "*", "1K", "bruck", ""]]
    with pytest.raises(CliError, match="a row without algorithm: alltoall,host,1,8,64"):
        kept_rows(read_rows("alltoall,host,1,8,64\n"), rows)
    path = tmp_path / "table.csv"
    assert write_table(path, ["from here"], [few]) == 0 and write_table(path, ["from there"], [many]) == 2
    assert path.read_text().splitlines()[:3] == ["# from there", "collective,memory,mpi,nodes,ranks_per_node,ranks_per_device,up_to_bytes,algorithm,parameters",
                                                ",".join(rows[2])]


def test_a_record_goes_on_where_it_stopped(tmp_path):
    path = tmp_path / "record.jsonl"
    Record(path, {"hosts": 2}, resume=False).keep("a", [1])
    with open(path, "a", encoding="utf-8") as file:
        file.write('{"key": "b", "val')  # It was killed while writing.
    again = Record(path, {"hosts": 2}, resume=True)
    assert again.get("a") == [1] and again.get("b") is None
    again.keep("b", 2)
    assert [json.loads(line)["key"] for line in path.read_text().splitlines()] == ["about", "a", "b"]
    with pytest.raises(CliError, match="--resume"):
        Record(path, {"hosts": 2}, resume=False)
    with pytest.raises(CliError, match="hosts was 2, now it is 3"):
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
            raise CliError("The bench program failed (exit code 139).")
        results = [{"bytes": size, "contender": name, "algorithm": {"auto": "pairwise"}.get(name, name.split()[0]),
                    "p50_us": self.truth(name, size), "wrong": 3 * (name in self.wrong)} for size in sizes for name in contenders]
        return {"nodes": 1, "ranks_per_node": 4, "mpi": "MPI", "results": results}


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    """A campaign on a made-up machine; its warnings are in `warnings`."""
    monkeypatch.setattr(tuning_campaign, "candidates", lambda *_: list(ALGORITHMS))
    monkeypatch.setattr(tuning_campaign, "chosen_now", lambda *_: "pairwise")
    monkeypatch.setattr(tuning_campaign, "short_mpi", lambda *_: "")
    monkeypatch.setattr(tuning_campaign, "effect", lambda collective, layout, spec, size: spec)
    path = tmp_path / "record.jsonl"

    def make(machine, resume=False):
        warnings = []
        made = Campaign(Goal("alltoall", 4, SIZES, 3), Context(machine, Record(path, {}, resume), warn=warnings.append))
        made.warnings = warnings
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
    assert len(begins) > 2  # The order rotates.
    assert not any("linear" in contenders for contenders, sizes in machine.jobs[2:] if sizes == [1, 2, 4, 8])


def test_an_interrupted_campaign_goes_on(campaign):
    whole = Machine(plain)
    one = campaign(whole)
    one.run()
    expected = one.ranges()
    one.context.record.path.unlink()
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
    assert set(one.disqualified) == {"bruck", "linear"} and len(one.warnings) == 2
    assert "3 blocks were wrong at 1 B" in "".join(one.warnings) and "exit code 139" in "".join(one.warnings)
    assert [each.winner for each in one.ranges()] == ["pairwise"]
    again = campaign(Machine(plain, stop_after=0), resume=True)
    again.run()
    assert again.disqualified == one.disqualified


def test_nothing_can_be_tuned_where_the_present_choice_is_wrong(campaign):
    with pytest.raises(CliError, match="auto .pairwise., 4 ranks: 3 blocks were wrong"):
        campaign(Machine(plain, wrong=["auto"])).run()

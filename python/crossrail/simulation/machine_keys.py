"""The keys of a machine file: what each may be, and which end of a range is the favourable one."""

import math
from dataclasses import dataclass
from typing import Any, Dict, Tuple

KINDS = ("rc", "ud", "dc")  # The program takes their numbers: 0, 1, 2.
BEST = "best"  # Of each cell the fastest of KINDS counts.
LOW, HIGH, NONE = "low", "high", ""  # The favourable end; with NONE a key takes no range.


@dataclass(frozen=True)
class Sort:
    """Says what a value is: a text for sentences, the least and the largest value, whether it is whole, and the favourable end of a range."""

    words: str
    least: float
    most: float
    whole: bool = False
    favourable: str = NONE

    def fits(self, value: Any) -> bool:
        """Returns whether a number is one of this sort."""
        inside = self.least <= value <= self.most and math.isfinite(value)
        return inside and (not self.whole or float(value).is_integer())


TIME = Sort("a time in nanoseconds, from 0 to 1e9", 0, 1e9, favourable=LOW)
RATE = Sort("a bandwidth in GB/s, from 0.001 to 1e6", 1e-3, 1e6, favourable=HIGH)
SIZE = Sort("a whole number of bytes, from 1 to 2**40", 1, 1 << 40, True)
LIMIT = Sort("a whole number of bytes, from 0 to 2**40", 0, 1 << 40, True)
COUNT = Sort("a whole number, from 1 to 1e9", 1, 1e9, True)
CACHED = Sort("a whole number, from 1 to 1e9", 1, 1e9, True, HIGH)
FLAG = Sort("0 or 1", 0, 1, True)

KEYS: Dict[str, Dict[str, Sort]] = {
    "memory": {"core_bandwidth": RATE, "shared_bandwidth": RATE, "node_bandwidth": RATE, "copy": TIME, "combine_bandwidth": RATE},
    "flags": {"other_core": TIME, "look": TIME},
    "calls": {"enter": TIME},
    "local": {"latency": TIME, "bandwidth": RATE, "send": TIME, "receive": TIME},
    "network": {"latency": TIME, "send": TIME, "receive": TIME, "receive_bandwidth": RATE, "match": TIME, "eager": LIMIT, "handshake": TIME,
                "process_gap": TIME, "shared_by_processors": FLAG, "processor_bandwidth": RATE},
    "adapters": {"count": COUNT, "gap": TIME, "bandwidth": RATE, "queue_pairs": COUNT, "cached": CACHED, "miss": TIME},
    "transport": {"datagram": SIZE, "datagram_work": TIME, "reconnect": TIME, "contexts": COUNT},  # Its `kind` is a word.
}
MOST_NODES, MOST_RANKS_OF_A_NODE = 1 << 14, 4096
NOTES = ("source",)  # Beside low and high, or value, a table of a value may say where its numbers are from.
TOP: Tuple[str, ...] = ("name", "about", "ranks_per_node", "nodes", "sizes")

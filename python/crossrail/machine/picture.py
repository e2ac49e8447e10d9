"""A drawing of the machine: packages, NUMA domains with their processors, caches, GPUs, network cards (SVG)."""

from html import escape
from typing import Any, Dict, List

from crossrail.sizes import format_size

CELL, GAP, MARGIN, COLUMNS = 14, 4, 16, 16
STYLE = """
svg { --ground: #fcfcfb; --ink: #0b0b0b; --faint: #52514e; --line: #c3c2b7; --core: #2a78d6; --gpu: #1baf7a; --nic: #eb6834;
  background: var(--ground); }
@media (prefers-color-scheme: dark) { svg { --ground: #1a1a19; --ink: #fff; --faint: #c3c2b7; --line: #52514e;
  --core: #3987e5; --gpu: #199e70; --nic: #d95926; } }
text { font: 12px system-ui, sans-serif; fill: var(--ink); } .faint { fill: var(--faint); } .head { font-weight: 600; font-size: 15px; }
.box { fill: none; stroke: var(--line); } .core { fill: var(--core); } .gpu { fill: var(--gpu); } .nic { fill: var(--nic); }
"""


def parse_processors(text: str) -> List[int]:
    """'0-3,8' -> [0, 1, 2, 3, 8]."""
    numbers: List[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def label(x: float, y: float, words: str, kind: str = "") -> str:
    """A line of text with its base line at y (pixels)."""
    return f'<text x="{x}" y="{y}" class="{kind}">{escape(words)}</text>'


def devices_of(machine: Dict[str, Any], domain: Dict[str, Any]) -> List[tuple]:
    """(class, words) of every GPU and network card of a domain; homeless ones go to the first domain."""
    domains = machine.get("domains", [])
    known = {one["number"] for one in domains}
    found = []
    for kind, css in (("gpus", "gpu"), ("nics", "nic")):
        for device in machine.get(kind, []):
            home = device.get("domain")
            if home == domain["number"] or (home not in known and domain is domains[0]):
                found.append((css, f"{device['name']} {device.get('model', '')}".strip()))
    return found


def draw_domain(machine: Dict[str, Any], domain: Dict[str, Any], top: int) -> tuple:
    """One NUMA domain as a box at height `top`; returns (svg, its height in pixels)."""
    processors = parse_processors(domain.get("cpus", ""))
    parts = [label(MARGIN + 12, top + 22, f"NUMA domain {domain['number']}: {format_size(domain.get('memory_bytes', 0))}")]
    for index, number in enumerate(processors):
        x = MARGIN + 12 + index % COLUMNS * (CELL + GAP)
        y = top + 34 + index // COLUMNS * (CELL + GAP)
        parts.append(f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" rx="3" class="core"><title>processor {number}</title></rect>')
    rows = -(-len(processors) // COLUMNS)
    devices = devices_of(machine, domain)
    right = MARGIN + 12 + COLUMNS * (CELL + GAP) + 20
    for index, (css, words) in enumerate(devices):
        y = top + 34 + index * 22
        parts.append(f'<rect x="{right}" y="{y}" width="{CELL}" height="{CELL}" rx="3" class="{css}"/>' + label(right + 22, y + 12, words))
    height = 46 + max(rows * (CELL + GAP), len(devices) * 22)
    parts.insert(0, f'<rect x="{MARGIN}" y="{top}" width="640" height="{height}" rx="8" class="box"/>')
    return "".join(parts), height


def draw_machine(machine: Dict[str, Any]) -> str:
    """A self-contained SVG of what crossrail_machine tells; the squares are hardware threads."""
    packages = machine.get("packages", 1)
    caches = ", ".join(f"L{cache['level']} {cache['count']} × {format_size(cache['bytes'])}" for cache in machine.get("caches", []))
    summary = (f"{packages} package{'s' if packages != 1 else ''}, {machine.get('cores', '?')} cores, {machine.get('threads', '?')} threads, "
               f"{format_size(machine.get('memory_bytes', 0))} memory")
    parts = [label(MARGIN, 30, machine.get("host", "this machine"), "head"),
             label(MARGIN, 50, machine.get("cpu", ""), "faint"), label(MARGIN, 68, summary, "faint"),
             label(MARGIN, 86, f"caches: {caches}" if caches else "", "faint")]
    top = 100
    for domain in machine.get("domains", []):
        drawn, height = draw_domain(machine, domain, top)
        parts.append(drawn)
        top += height + 12
    for index, (css, words) in enumerate((("core", "processor"), ("gpu", "GPU"), ("nic", "network card"))):
        x = MARGIN + index * 110
        parts.append(f'<rect x="{x}" y="{top}" width="{CELL}" height="{CELL}" rx="3" class="{css}"/>' + label(x + 20, top + 12, words, "faint"))
    height = top + 32
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 672 {height}" width="672" height="{height}">'
            f"<style>{STYLE}</style>{''.join(parts)}</svg>\n")

"""The machine as hwloc's own tool draws it, in the colours of the pages."""

import subprocess
import xml.etree.ElementTree as xml
from html import escape
from typing import Dict, List

SVG = "{http://www.w3.org/2000/svg}"
SECONDS = 20  # for lstopo; machines with many cards take one or two
PLACES = ("x", "y", "x1", "x2", "y1", "y2", "width", "height")
KINDS = {"package": ("Package", "Die", "Group"), "core": ("Core",), "pu": ("PU",), "memory": ("NUMANode", "MemCache"),
         "card": ("PCI", "Bridge", "HostBridge"), "device": ("Block", "Network", "Net", "OpenFabrics", "Co-Processor", "CoProc", "GPU", "DMA", "Misc")}
STYLE = """
svg.machine { --box: #fff; --edge: #6b6a64; --text: #0b0b0b; --package: #e3efd0; --core: #cfcfcb; --pu: #fff; --memory: #f4dedc; --card: #d5e4b4; --device: #e9e8e2; }
@media (prefers-color-scheme: dark) { svg.machine { --box: #1a1a19; --edge: #8b8a84; --text: #fff; --package: #25331b; --core: #4a4a47; --pu: #22221f;
  --memory: #4a2c2a; --card: #35451f; --device: #34342f; } }
svg.machine { width: auto; max-width: none; } svg.machine rect { fill: var(--box); stroke: var(--edge); } svg.machine line { stroke: var(--edge); }
svg.machine text { font: 10px monospace; fill: var(--text); }
""" + "".join(f"svg.machine rect.{kind} {{ fill: var(--{kind}); }}" for kind in KINDS)


def kind_of(name: str) -> str:
    """The class of an object: what it is, in few words."""
    return next((kind for kind, names in KINDS.items() if name in names), "box")


def element(one: xml.Element) -> str:
    """A rectangle, line or text as lstopo placed it, without its own colours; '' for anything else."""
    tag = one.tag.removeprefix(SVG)
    if tag not in ("rect", "line", "text"):
        return ""
    places = "".join(f' {name}="{float(value):g}"' for name, value in one.attrib.items() if name in PLACES)
    if tag == "text":
        return f"<text{places}>{escape(one.text or '')}</text>"
    return f'<{tag} class="{kind_of(one.get("class", ""))}"{places}/>'


def restyle(drawn: str, scale: float = 1.25) -> str:
    """What lstopo wrote ('nativesvg'), as an SVG that follows the reader's light or dark mode. Raises ValueError where it is no such picture."""
    try:
        root = xml.fromstring(drawn.encode())
    except xml.ParseError as error:
        raise ValueError(f"lstopo wrote no SVG: {error}") from error
    sizes: Dict[str, float] = {name: float(root.get(name, "0").removesuffix("px")) for name in ("width", "height")}
    parts: List[str] = [element(one) for one in root.iter()]
    if not any(part.startswith("<rect") for part in parts) or not all(sizes.values()):
        raise ValueError("lstopo drew nothing")
    width, height = sizes["width"] + 1, sizes["height"] + 1  # half of the outermost frame's line lies outside it
    return (f'<svg xmlns="http://www.w3.org/2000/svg" class="machine" role="img" aria-label="The machine: packages, caches, cores, memory, cards" '
            f'width="{scale * width:g}" height="{scale * height:g}" viewBox="-0.5 -0.5 {width:g} {height:g}">'
            f"<style>{STYLE}</style>{''.join(parts)}</svg>\n")


def lstopo_picture() -> str:
    """The picture of this machine; '' where hwloc's tool is missing or cannot draw."""
    try:
        done = subprocess.run(["lstopo", "--of", "nativesvg", "--no-legend", "-"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=SECONDS,
                              check=True)
        return restyle(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return ""

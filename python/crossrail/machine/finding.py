"""What a check of `crossrail doctor` finds."""

from dataclasses import dataclass

OK, NOTE, BROKEN = "ok", "note", "broken"


@dataclass
class Finding:
    """`level` is OK, NOTE (works, but slower or less) or BROKEN; `advice` is what to do, '' where nothing."""

    level: str
    words: str
    advice: str = ""

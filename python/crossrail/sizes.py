"""Sizes in bytes, as people write and read them, and lists of numbers like 0,0,1,1."""

from typing import Any, Dict, List

from crossrail.errors import CliError

MOST = 1 << 50  # no machine has as much
FACTORS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}


def parse_size(text: str) -> int:
    """'1K', '4KiB', '2MB' or '512' in bytes (K is 1024). Raises CliError for anything else, or more than any machine has."""
    letters = text.strip().upper()
    number = letters.rstrip("KMGTIB")
    unit = letters[len(number):].replace("IB", "").replace("B", "")
    if not number.isdigit() or unit not in FACTORS:
        raise CliError(f"'{text}' is not a size; write for example 512, 1K or 2M.")
    if len(number) > 18 or int(number) * FACTORS[unit] > MOST:
        raise CliError(f"'{text}' is more than {MOST >> 40} TiB.")
    return int(number) * FACTORS[unit]


def format_size(size_bytes: float) -> str:
    """1024 -> '1 KiB', 1536 -> '1.5 KiB', 5 -> '5 B'."""
    for unit, factor in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:.3g} {unit}" if size_bytes < 1000 * factor else f"{size_bytes / factor:.0f} {unit}"
    return f"{size_bytes:.0f} B"


def format_count(count: int) -> str:
    """5635 -> '5 635' (thin groups, as in the documentation)."""
    return f"{count:,}".replace(",", " ")


def format_means(means: List[float]) -> List[str]:
    """A column of counts in the mean: whole, or all with a decimal where they are not. ['3 706', '12']."""
    whole = all(abs(one - round(one)) < 1e-9 for one in means)
    return [f"{one:,.{0 if whole else 1}f}".replace(",", " ") for one in means]


def three_digits(value: float) -> str:
    """A number with three digits, zeros at its end as well, so that those of a column are alike: 0.380, 4.00, 61.0, 100, 3 859.

    Below 1 three decimals: times are measured in nanoseconds. Nothing at all is '0', hardly anything '<0.001'.
    """
    if value == 0 or abs(value) >= 999.5:
        return format_count(round(value))
    if abs(value) >= 0.9995:
        return f"{value:#.3g}".rstrip(".")
    return f"{value:.3f}" if abs(value) >= 0.0005 else "<0.001"


def format_time_us(time_us: float) -> str:
    """Microseconds: 1.23, 45.6, 1 234."""
    return three_digits(time_us)


def format_median_us(result: Dict[str, Any]) -> str:
    """'7.77 [7.74, 7.80]': a median and its confidence interval, where there is one."""
    low, high = result.get("p50_low_us"), result.get("p50_high_us")
    between = "" if low is None or high is None else f" [{format_time_us(low)}, {format_time_us(high)}]"
    return format_time_us(result["p50_us"]) + between


def parse_numbers(text: str, example: str = "0,0,1,1") -> List[int]:
    """'0,0,1,1' -> [0, 0, 1, 1]. Raises CliError for anything else, with an example."""
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise CliError(f"'{text}' is not a list of numbers; write for example {example}.") from None


def doubled(first: int, last: int) -> List[int]:
    """The sizes from the first, each twice the one before, as long as they are not more than the last."""
    return [first << step for step in range(64) if first << step <= last]


def parse_ranges(text: str) -> List[int]:
    """'8-64' -> [8, 16, 32, 64]: from a size to another one, each twice the one before; '1,8-32,1K' is a list of such. Raises CliError for anything else."""
    sizes: List[int] = []
    for word in text.split(","):
        low, dash, high = word.partition("-")
        first, last = parse_size(low), parse_size(high if dash else low)
        if not 1 <= first <= last:
            raise CliError(f"'{word.strip()}' has no sizes: sizes begin at 1 byte, and the first is not more than the last.")
        sizes += doubled(first, last)
    return sorted(set(sizes))


def powers(smallest: int, largest: int) -> List[int]:
    """Sizes from the smallest, doubling, to the largest; raises CliError when there are none."""
    if not 1 <= smallest <= largest:
        raise CliError("--min must be at least 1 byte, and --max not below it.")
    return doubled(smallest, largest)

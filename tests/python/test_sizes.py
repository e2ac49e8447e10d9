"""Sizes and lists of numbers, as people write and read them."""

import pytest

from crossrail.errors import CliError
from crossrail.sizes import format_count, format_size, format_time_us, parse_numbers, parse_size


def test_sizes():
    assert [parse_size(text) for text in ("512", "1K", "4KiB", "2MB", "1g")] == [512, 1024, 4096, 2 << 20, 1 << 30]
    assert [format_size(size) for size in (0, 5, 1000, 1024, 1536, 1 << 20)] == ["0 B", "5 B", "1000 B", "1 KiB", "1.5 KiB", "1 MiB"]
    assert (format_count(5635), format_time_us(1.234), format_time_us(1234.5)) == ("5 635", "1.23", "1234")
    for text in ("", "1Q", "K", "-1", "1.5K", "1I"):
        with pytest.raises(CliError):
            parse_size(text)


def test_lists_of_numbers():
    assert parse_numbers("0,0,1") == [0, 0, 1]
    with pytest.raises(CliError):
        parse_numbers("0,a")

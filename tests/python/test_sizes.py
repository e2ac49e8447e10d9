"""Sizes and lists of numbers, as people write and read them."""

import pytest

from crossrail.errors import CliError
from crossrail.sizes import format_count, format_means, format_size, format_time_us, parse_numbers, parse_size, three_digits


def test_sizes():
    assert [parse_size(text) for text in ("512", "1K", "4KiB", "2MB", "1g", "1T", "1024TiB")] == [512, 1024, 4096, 2 << 20, 1 << 30, 1 << 40, 1 << 50]
    assert [format_size(size) for size in (0, 5, 1000, 1024, 1536, 1 << 20)] == ["0 B", "5 B", "1000 B", "1 KiB", "1.5 KiB", "1 MiB"]
    assert (format_count(5635), format_time_us(1.234), format_time_us(1234.5)) == ("5 635", "1.23", "1 234")
    for text in ("", "1Q", "K", "-1", "1.5K", "1I"):
        with pytest.raises(CliError):
            parse_size(text)


def test_the_numbers_of_a_column_have_as_many_digits():
    numbers = (0.38, 0.9996, 4, 9.996, 61, 99.96, 100, 999.4, 999.6, 3859)
    assert [three_digits(one) for one in numbers] == ["0.380", "1.00", "4.00", "10.0", "61.0", "100", "100", "999", "1 000", "3 859"]
    assert [three_digits(one) for one in (0, 0.0004, 0.0014, -61)] == ["0", "<0.001", "0.001", "-61.0"]
    assert format_means([3859, 25.0]) == ["3 859", "25"] and format_means([1286.5, 25]) == ["1 286.5", "25.0"]


def test_lists_of_numbers():
    assert parse_numbers("0,0,1") == [0, 0, 1]
    with pytest.raises(CliError, match="for example 0,0,1,1"):
        parse_numbers("0,a")

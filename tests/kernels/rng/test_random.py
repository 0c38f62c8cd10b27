"""Philox: the published known answers of Philox4x32-10 (Random123), words that do not repeat."""

import pytest

from cynet.kernels.table import philox_block

ONES = 2**64 - 1
PI = (0x299F31D0A4093822, 0x0370734413198A2E, 0x85A308D3243F6A88)  # digits of pi: key and counter


@pytest.mark.parametrize(
    "seed, stream, number, words",
    [
        (0, 0, 0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        (ONES, ONES, ONES, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (*PI, (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
    ],
)
def test_known_answers(seed, stream, number, words):
    assert tuple(philox_block(seed, stream, number)) == words


def test_each_part_of_seed_stream_and_number_counts():
    blocks = {
        tuple(philox_block(seed, stream, number))
        for seed in (0, 1, 1 << 32)
        for stream in (0, 1, 1 << 32)
        for number in (0, 1, 1 << 32)
    }
    assert len(blocks) == 27

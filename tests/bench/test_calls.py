"""What became of the calls that were made while the mesh swapped."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.calls import Call, Counted, Served, Window, count

SELECTED = {1: "blue", 2: "green"}

RIGHT = Call((0, 1), 100, 200, 1, "answered", 1, (Served("blue", 1), Served("blue", 1)))


def test_a_call_that_one_generation_served_as_it_selects_is_right() -> None:
    assert count([RIGHT], [0, 1], SELECTED) == Counted()


@pytest.mark.parametrize(
    "wrong",
    [
        replace(RIGHT, served=(Served("blue", 1), Served("green", 2))),
        replace(RIGHT, served=(Served("blue", 1), Served("green", 1))),
        replace(RIGHT, served=(Served("green", 2), Served("green", 2))),
        replace(RIGHT, newest=2),
        replace(RIGHT, generation=3, served=(Served("blue", 3), Served("blue", 3))),
    ],
    ids=[
        "in part by another generation",
        "by both providers",
        "by another one",
        "by an older one",
        "unknown",
    ],
)
def test_a_call_that_another_generation_served_has_strayed(wrong: Call) -> None:
    assert count([wrong], [0, 1], SELECTED) == Counted(strayed=1)


def test_an_error_is_a_failed_call_and_no_answer_a_lost_one() -> None:
    failed, lost = Call((2,), 0, 1, 1, "failed"), Call((3,), 0, 1, 1, "lost")
    assert count([RIGHT, failed, lost], [0, 1, 3], SELECTED) == Counted(failed=1, lost=1)


def test_an_answer_to_what_nobody_served_is_a_lost_call() -> None:
    assert count([RIGHT], [0], SELECTED) == Counted(lost=1)


@given(st.lists(st.sampled_from([0, 1, 2, 3])))
def test_a_request_that_was_served_again_is_counted_once_wherever_that_was(again: list[int]) -> None:
    calls = [RIGHT, replace(RIGHT, requests=(2, 3))]
    assert count(calls, [0, 1, 2, 3, *again], SELECTED) == Counted(duplicated=len(set(again)))


def test_a_window_has_the_calls_that_began_in_it() -> None:
    assert Window(100, 200).has(RIGHT)
    assert not Window(101, 200).has(RIGHT)
    assert not Window(0, 100).has(RIGHT)

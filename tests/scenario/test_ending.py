from __future__ import annotations

import threading

import pytest

from harness.scenario.ending import EndlessError, within


def test_work_that_ends_in_time_gives_or_raises_what_it_does() -> None:
    assert within(5, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        within(5, lambda: 1 // 0)


@pytest.mark.parametrize("survived", [(Exception, SystemExit), (BaseException,)])
def test_what_is_left_behind_stops_also_where_it_takes_each_end_for_one_calls_failure(
    survived: tuple[type[BaseException], ...],
) -> None:
    def one_call_after_the_other() -> None:
        for _ in range(3):
            try:
                while True:
                    pass
            except survived:
                continue

    before = set(threading.enumerate())
    with pytest.raises(EndlessError):
        within(0.05, one_call_after_the_other)
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive()

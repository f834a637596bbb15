"""Brake for fights over an object: when there is one, how it is braked, and when it is over."""

from scheduler_operator.cluster.repair_brake import QUICK_SECONDS, REPAIRS, REST_SECONDS, RepairBrake


def in_a_fight(since: float = 0.0) -> RepairBrake:
    brake = RepairBrake()
    assert [brake.note("a", since + number) for number in range(REPAIRS)] == [False] * (REPAIRS - 1) + [True]
    return brake


def test_a_contested_object_rests_before_it_is_changed_back_again() -> None:
    brake = in_a_fight()
    last = REPAIRS - 1
    assert brake.rest("a", last) == REST_SECONDS
    assert brake.rest("a", last + REST_SECONDS) == 0
    assert not brake.note("a", last + REST_SECONDS), "told once"
    assert brake.rest("a", last + REST_SECONDS + 1) == REST_SECONDS - 1
    assert brake.rest("b", last) == 0


def test_repairs_of_now_and_then_are_no_fight() -> None:
    brake = RepairBrake()
    for number in range(3 * REPAIRS):
        now = number * (QUICK_SECONDS + 1)
        assert not brake.note("a", now)
        assert brake.rest("a", now) == 0


def test_a_fight_is_over_when_the_other_one_has_stopped() -> None:
    brake = in_a_fight()
    later = REPAIRS + 3 * REST_SECONDS
    assert not brake.note("a", later)
    assert brake.rest("a", later) == 0


def test_a_new_object_of_that_name_has_no_past() -> None:
    brake = in_a_fight()
    brake.forget("a")
    assert brake.rest("a", REPAIRS) == 0

from pathlib import Path

import pytest
from conftest import TEXT

import gigatcp
from gigatcp import Plan, PlanError

KEYS = {
    "name": "small",
    "path": {"rate": "50 Mbit/s", "rtt": "20 ms", "loss": "1e-3"},
    "flow": {"bytes": "2 MB"},
}


def fingerprint(plan: Plan) -> str:
    return gigatcp.run(plan).summary["event_hash"][0]


def test_text_file_dictionary_and_keywords_are_the_same_plan(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(TEXT)
    plans = [Plan(TEXT), Plan(file), Plan(str(file)), Plan(KEYS), Plan(**KEYS)]
    assert len({fingerprint(plan) for plan in plans}) == 1
    assert {plan.name for plan in plans} == {"small"}


def test_a_wrong_value_is_said_as_the_command_says_it() -> None:
    with pytest.raises(PlanError) as caught:
        Plan(TEXT.replace('"20 ms"', '"20"'))
    (finding,) = caught.value.diagnostics
    assert finding.severity == "error"
    assert (finding.line, finding.source) == (3, "text")
    # Behind the number, where the unit is missing.
    assert finding.column == TEXT.splitlines()[2].index('"20 ms"') + 4
    assert finding.hint
    text = str(caught.value)
    assert "^" in text and finding.hint in text and "this plan cannot run" in text


def test_an_unknown_key_is_answered_with_the_nearest_one() -> None:
    with pytest.raises(PlanError, match="did you mean `rtt`"):
        Plan(path={"rate": "1 Mbit/s", "rt": "1 ms"}, flow={"bytes": "1 kB"})


def test_set_makes_another_plan_and_says_what_is_wrong_with_it(plan: Plan) -> None:
    slower = plan.set({"path.rtt": "200 ms"})
    assert fingerprint(slower) != fingerprint(plan)
    assert fingerprint(slower) == fingerprint(Plan(TEXT.replace("20 ms", "200 ms")))
    assert slower.changes_made == ["path.rtt=200 ms"] and plan.changes_made == []
    with pytest.raises(PlanError) as caught:
        plan.set("path.rtt=fast")
    assert caught.value.diagnostics[0].source == "--set 1"


def test_values_of_python_become_values_of_toml() -> None:
    plan = Plan(
        {
            "title": 'a "quoted" \\ title\n',
            "path": {"rate": "1 Mbit/s", "rtt": "1 ms"},
            "flow": [{"name": "a", "bytes": "1 kB"}, {"name": "b", "bytes": "2 kB"}],
            "sender.sack": False,
            "seed": 7,
        }
    )
    assert plan.flows == ["a", "b"]
    assert (plan.title, plan.seed, plan.name) == ('a "quoted" \\ title\n', 7, "plan")


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(gigatcp.Error, match="no-such.toml.*\n.*effect.*\n.*hint"):
        Plan("no-such.toml")

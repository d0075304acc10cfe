"""A finding: what is said of it, in one line, and in which order."""

from nodenet.core.node_file.finding import MOST_SHOWN, Finding, Severity, errors, ordered, refusal, shown

LATER, EARLIER = Finding("second", "b", 9, 1, "k", "v"), Finding("first", "a", 3, 2)
WARNING = Finding("odd", "c", 1, severity=Severity.WARNING)


def test_findings_are_ordered_as_one_reads_each_once() -> None:
    assert ordered([LATER, EARLIER, LATER, WARNING]) == (WARNING, EARLIER, LATER)
    assert errors([WARNING, LATER]) == [LATER]


def test_the_refusal_names_the_first_and_counts_the_others() -> None:
    error = refusal("w.yml", [EARLIER, LATER])
    assert error.cause == "w.yml, line 3, column 2: first (and 1 more: `nodenetctl check FILE` shows them all)"
    assert error.remedy == "a"
    assert refusal("w.yml", [LATER]).cause == "w.yml, line 9, column 1: k = v: second"


def test_the_place_is_as_exact_as_it_is_known() -> None:
    assert [each.place("w.yml") for each in (WARNING, LATER, Finding("x", ""))] == [
        "w.yml, line 1",
        "w.yml, line 9, column 1",
        "w.yml",
    ]


def test_a_value_is_shown_in_short_and_printable() -> None:
    assert shown("") == "''"
    assert shown("\x1b[31m") == "\\x1b[31m"
    assert len(shown("x" * 5000)) == MOST_SHOWN

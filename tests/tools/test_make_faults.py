"""The page of faults: each has a test, and the page is made from the list."""

from make_faults import PAGE, faults, names_of_tests, page


def test_the_page_is_the_list() -> None:
    """`python tools/make_faults.py` writes it."""
    assert PAGE.read_text(encoding="utf-8") == page(faults())


def test_each_fault_has_a_number_and_a_test_that_exists() -> None:
    """A test that was renamed is renamed there, too. A name that two tests have does not say which one is meant."""
    known, rows = names_of_tests(), faults()
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))
    assert [(row.number, name) for row in rows for name in row.tests if known[name] != 1] == []
    assert [row.number for row in rows if not row.tests] == []

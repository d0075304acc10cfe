"""One row a node file; an address in two files is marked in both."""

from nodenet.core.day_one.document import Document, read, rows


def static(link: str, *addresses: str) -> Document:
    listed = ", ".join(f"{{ip: {address}, prefix-length: 24}}" for address in addresses)
    return read(f"interfaces: [{{name: {link}, type: ethernet, ipv4: {{enabled: true, address: [{listed}]}}}}]\n")


def test_a_row_says_what_a_file_configures() -> None:
    first, second, third = rows(
        {
            "b.yml": static("eth0", "192.0.2.5", "192.0.2.6"),
            "a.yml": static("eth0", "192.0.2.5"),
            "cluster.yml": read("interfaces: [{name: eth0, type: ethernet, ipv4: {enabled: true, dhcp: true}}]\n"),
        }
    )
    assert (first.file, first.host, first.duplicates, first.automatic) == ("a.yml", "a", ("192.0.2.5",), False)
    assert (second.file, second.duplicates) == ("b.yml", ("192.0.2.5",))
    assert [str(address) for address in second.addresses] == ["192.0.2.5/24", "192.0.2.6/24"]
    assert (third.host, third.automatic, third.links) == ("every host without a file of its own", True, ("eth0",))


def test_one_address_twice_in_one_file_is_no_duplicate_of_another() -> None:
    (row,) = rows({"a.yml": static("eth0", "192.0.2.5", "192.0.2.5")})
    assert row.duplicates == ()

"""What is in a bundled tree, and from where? A bill of materials, CycloneDX 1.5 in JSON.

Each file is below the component that it comes from, with its SHA-256. The same tree gives the same bytes: the document
has no time and no serial number. Specification: https://cyclonedx.org/docs/1.5/json/
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath
from typing import Any

NAME = "nodenet.cdx.json"
LIBNMSTATE = "libnmstate"
Component = dict[str, Any]


def bill(version: str, library: Path, place: str, record: dict[str, Any], others: dict[str, bytes]) -> str:
    """Return the document about the packages in *library*, which will be at *place*, and the files beside them.

    *record* is the bundled interpreter's; *others* has the content of each file outside *library* by its path.
    """
    components = {"nodenet": _component("nodenet", version, "Apache-2.0", f"pkg:generic/nodenet@{version}")}
    components |= {package["name"]: _debian(package) for package in record["packages"]}
    owners = {f"python/{name}": package for name, package in record["files"].items()}
    for metadata in sorted(library.glob("*.dist-info")) + sorted(library.glob("bundled/*.dist-info")):
        component = _distribution(metadata)
        components[component["name"]] = component
        recorded = csv.reader((metadata / "RECORD").read_text(encoding="utf-8").splitlines())
        above = metadata.parent.relative_to(library)
        owners |= {(above / row[0]).as_posix(): component["name"] for row in recorded}
    files: dict[str, list[Component]] = {name: [] for name in components}
    for path in sorted(path for path in library.rglob("*") if path.is_file()):
        name = path.relative_to(library).as_posix()
        files[owners.get(source_of(name), "nodenet")].append(_file(f"{place}/{name}", path.read_bytes()))
    files["nodenet"] += [_file(name, content) for name, content in sorted(others.items())]
    for name, component in components.items():
        component["components"] = files[name]
    own = components.pop("nodenet") | {"type": "application"}
    listed = [*components.values(), *_crates(library)]
    document = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": own}}
    return json.dumps({**document, "components": listed}, indent=1) + "\n"


def with_files(text: str, gone: set[str], added: dict[str, bytes]) -> str:
    """Return the document after a package has replaced and added files of nodenet's own."""
    document = json.loads(text)
    own = document["metadata"]["component"]
    kept = [file for file in own["components"] if file["name"] not in gone]
    own["components"] = [*kept, *(_file(name, content) for name, content in sorted(added.items()))]
    return json.dumps(document, indent=1) + "\n"


def source_of(name: str) -> str:
    """Return the name of a file's source: that of the module, for its bytecode."""
    path = PurePosixPath(name)
    if path.suffix != ".pyc":
        return name
    if path.parent.name != "__pycache__":
        return name.removesuffix("c")
    return (path.parent.parent / f"{path.name.split('.')[0]}.py").as_posix()


def _component(name: str, version: str, licence: str, purl: str) -> Component:
    ids = re.fullmatch(r"[A-Za-z0-9.-]+", licence)
    stated = {"license": {"id" if ids else "name": licence}}
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "licenses": [stated],
        "purl": purl,
    }


def _debian(package: dict[str, str]) -> Component:
    name, version, architecture = package["name"], package["version"], package["architecture"]
    purl = f"pkg:deb/debian/{name}@{version.replace('+', '%2B').replace(':', '%3A')}?arch={architecture}"
    component = _component(name, version, f"as in licences/{name}", purl)
    return component | {"hashes": [{"alg": "SHA-256", "content": package["sha256"]}]}


def _distribution(metadata: Path) -> Component:
    headers = HeaderParser().parsestr((metadata / "METADATA").read_text(encoding="utf-8"))
    name, version = str(headers["Name"]), str(headers["Version"])
    classifiers = [text.rpartition(" :: ")[2] for text in headers.get_all("Classifier", []) if "License ::" in text]
    licence = headers["License-Expression"] or headers["License"] or ", ".join(classifiers)
    short = str(licence or f"as in {metadata.name}").splitlines()[0]
    return _component(name, version, short, f"pkg:pypi/{re.sub('[-_.]+', '-', name).lower()}@{version}")


def _crates(library: Path) -> list[Component]:
    """Return the crates in libnmstate's module, as the builder of its wheel found them."""
    found = sorted(library.glob(f"bundled/{LIBNMSTATE}-*.dist-info/sboms/*.cyclonedx.json"))
    return [
        component
        for path in found
        for component in json.loads(path.read_text(encoding="utf-8"))["components"]
        if component.get("scope") != "excluded"
    ]


def _file(name: str, content: bytes) -> Component:
    digest = hashlib.sha256(content).hexdigest()
    return {"type": "file", "name": name, "hashes": [{"alg": "SHA-256", "content": digest}]}

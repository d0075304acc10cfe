"""units/completions: what the parser says, and what the shells really offer when somebody presses TAB."""

from __future__ import annotations

import argparse
import shutil
import subprocess
from pathlib import Path

import pytest

from make_completions import PATHS, SCRIPTS, completions, words
from nodenet.cli.main import VERBS, parser
from nodenet.core.settings.model import STAGES
from nodenet.core.settings.parse import PLATFORMS

ASK = {
    # shell → a program that prints what it offers for each of the lines $2…, by the script $1 or in its directory
    "bash": """
source $1
complete -p nodenetctl >/dev/null || exit
for line in "${@:2}"; do
  COMP_WORDS=($line); [[ $line == *" " ]] && COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _shtab_nodenetctl
  printf '%s\n' "= $line" "${COMPREPLY[@]}"
done
""",
    "fish": """
source $argv[1]
for line in $argv[2..]
  echo "= $line"
  complete -C $line | string replace -r '\t.*' ''
end; true
""",
    # Completion works in the line editor only, so a second zsh runs on a terminal; its compadd prints what it is given.
    "zsh": """
zmodload zsh/zpty
zpty inner zsh -f -i
zpty -w inner 'PROMPT= RPROMPT=; stty -echo -onlcr; fpath=('${1:h}' $fpath); autoload -Uz compinit && compinit -D -u
compadd() {
  local -a hits
  (( $argv[(I)-[OAD]*] )) || { builtin compadd -O hits "$@"; print -rl -- $hits }
  builtin compadd "$@"
}
offer() { print "<begin>"; _main_complete; print "<end>" }
zle -C offer complete-word offer; bindkey "^I" offer "^U" kill-whole-line
zle-line-init() print "<rea""dy>"; zle -N zle-line-init'
zpty -r inner heard '*<ready>*'
for line in "${@:2}"; do
  zpty -w -n inner $'\\x15'"$line"$'\\t'
  zpty -r inner heard '*<begin>*'
  zpty -r inner heard '*<end>*'
  print -r -- "= $line"$'\\n'"${heard%<end>*}"
done
""",
}
BARE = {"bash": ["--norc"], "fish": ["--no-config"], "zsh": ["-f"]}
"""Without the settings of whoever runs the tests."""
SECONDS = 60
OFFERED = {
    # line, TAB at its end → what is offered; the directory holds node.json and nodes/
    "nodenetctl ": set(VERBS),
    "nodenetctl ex": {"explain"},
    "nodenetctl explain ": {"node-ip", "br-ex", "hostname", "nmstate", "api-int", "vip", "hosted"},
    "nodenetctl bridge ": {"remove", "make"},
    "nodenetctl wait ": set(STAGES),
    "nodenetctl claims ": {"explain", "check", "import"},
    "nodenetctl wait no": {"nodeip"},
    "nodenetctl reload --w": {"--wait"},
    "nodenetctl explain hostname --": {"--help", "--json", "--no-dns"},
    "nodenetctl explain br-ex --datapath ": {"system", "netdev"},
    "nodenetctl explain node-ip --platform n": {name for name in PLATFORMS if name.startswith("n")},
    "nodenetctl explain node-ip --snapshot n": {"node.json", "nodes"},
    "nodenetctl explain node-ip --snapshot node.json --diff n": {"node.json", "nodes"},
    "nodenetctl check n": {"node.json", "nodes"},
    "nodenetctl boot-report --directory n": {"nodes"},
}


@pytest.mark.parametrize("shell", SCRIPTS)
def test_the_scripts_are_what_the_parser_says(shell: str) -> None:
    assert SCRIPTS[shell].read_text() == completions(shell), "run: python tools/make_completions.py"


def test_every_option_that_takes_a_path_is_known_as_one() -> None:
    """By its metavar, which is all that the parser says of it."""
    taking = [action for _, inner in words(parser()) for action in inner._actions if action.type is Path]
    assert taking
    assert [action.dest for action in taking if action.help != argparse.SUPPRESS and action.metavar not in PATHS] == []


@pytest.mark.parametrize("shell", SCRIPTS)
def test_the_shell_offers_what_fits(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here; packaging/host-packages installs it")
    (tmp_path / "node.json").touch()
    (tmp_path / "nodes").mkdir()
    program = [shell, *BARE[shell], "-c", ASK[shell], *([] if shell == "fish" else [shell])]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "TERM": "dumb", "LANG": "C.UTF-8"}
    command = [*program, str(SCRIPTS[shell]), *OFFERED]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    answers = dict(answer.split("\n", 1) for answer in done.stdout.removeprefix("= ").split("\n= "))
    offered = {line: {word.rstrip("/") for word in answer.split()} for line, answer in answers.items()}
    assert offered == OFFERED

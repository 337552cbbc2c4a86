"""An edit as a shell command, for agents whose only tool is a shell."""

from __future__ import annotations

import shlex

from harness.play.neutral.actions import EditFile

_PROGRAM = """\
import pathlib, sys
path, old, new, everywhere = pathlib.Path(sys.argv[1]), *(word.encode() for word in sys.argv[2:4]), sys.argv[4] == "all"
content = path.read_bytes()
count = content.count(old)
if count == 0 or (count > 1 and not everywhere):
    sys.exit(f"{path}: the text to replace stands {count} times in it")
path.write_bytes(content.replace(old, new))
print(f"{path}: {count} replaced")"""


def edit_command(action: EditFile, path: str) -> str:
    """The command; it edits nothing and ends with 1 where the text does not stand in the file once, unless everywhere.

    It is Python: sed knows neither texts of several lines nor how often one occurs.
    """
    how = "all" if action.everywhere else "once"
    return shlex.join(["python3", "-c", _PROGRAM, path, action.old, action.new, how])

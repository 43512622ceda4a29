"""A system whose free texts try to become markup or code, and whose names are JavaScript's own."""

from __future__ import annotations

from pathlib import Path

TEXT = (
    '</script></title></style><img src=x onerror=\\"window.hurt=1\\"><script>window.hurt=1</script>'
    "<!-- ${window.hurt=1} {{7*7}} %s {policy} \\u202e &lt;b&gt;"
)


def hostile_system(folder: Path) -> str:
    """The path of a system file in `folder`: two members over a buffer."""
    table = f'''format = 1
name = "hostile"
title = "{TEXT}"
note = "{TEXT}"
initial = "constructor"
final = ["toString"]
states = [
  {{ name = "constructor", about = "{TEXT}" }},
  {{ name = "toString", about = "{TEXT}" }},
]
rows = [
  {{ from = "constructor", to = "toString", send = "hasOwnProperty" }},
  {{ from = "constructor", to = "toString", receive = "hasOwnProperty" }},
]
'''
    (folder / "hostile.toml").write_text(table, "utf-8")
    system = f'''format = 1
name = "hostile_system"
title = "{TEXT}"
about = "{TEXT}"
channel = "fifo:1"

[[members]]
name = "one"
table = "hostile.toml"

[[members]]
name = "two"
table = "hostile.toml"

[[properties]]
formula = "F ended"
about = "{TEXT}"
'''
    path = folder / "system.toml"
    path.write_text(system, "utf-8")
    return str(path)

"""Kernels as WebAssembly: what they do is what the interpreter does, or they are refused."""

from __future__ import annotations

import ast
import importlib.util
import random
import sys
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import wasmtime

from proofs.core.kernels import Compiled, Interpreter
from proofs.core.webassembly import (
    I32,
    I64,
    U8,
    U16,
    NotTranslated,
    _constant,
    module,
    wrapping_product,
)
from proofs.refinement.saturation import has_hidden

HEAD = """from proofs.core.webassembly import I32, I64, U8, U16, prefetch, wrapping_product
SEVEN = 7
def plain(a: int, b: int) -> int:
    c = a ^ b
    c += 3
    return c - a
def nothing(a: int) -> None:
    a += 1
def bare(a: int) -> None:
    return
def adding(table: I32, by: int) -> int:
    for i in range(len(table)):
        if i == by & 3:
            return table[i]
    table[0] = by & 255
    return -1
def second(table: I32) -> int:
    return table[1]
"""


def kernel(
    body: str, folder: Path, head: str = "t: I64, u: I32, v: U16, w: U8, a: int, b: int"
) -> Any:
    """A kernel with this body, from a file, since its source is read."""
    lines = [f"    {line}" for line in body.splitlines()]
    source = "\n".join((HEAD, f"def kernel({head}) -> int:", *lines, ""))
    name = f"kernel_{abs(hash(source))}"
    path = folder / f"{name}.py"
    path.write_text(source, "utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found.kernel


class Outside(Exception):
    """A number of more than 64 bits, an index outside its array, or another shift than 0 to 63."""


class Strict(list[int]):
    """An array that Python's negative indices are not allowed in."""

    def __init__(self, kind: str, values: list[int]) -> None:
        super().__init__(values)
        self.kind = kind

    def __getitem__(self, index: Any) -> Any:
        if not 0 <= index < len(self):
            raise Outside
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        if not 0 <= index < len(self):
            raise Outside
        try:
            array(self.kind, [value])
        except OverflowError:
            raise Outside from None
        super().__setitem__(index, value)


def within(value: Any, shift: int = 0) -> Any:
    if (isinstance(value, int) and not -(1 << 63) <= value < 1 << 63) or not 0 <= shift < 64:
        raise Outside
    return value


class Watched(ast.NodeTransformer):
    """Each result of an operator is looked at; nothing else changes."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        shift = isinstance(node.op, (ast.LShift, ast.RShift))
        if shift:
            tested = ast.Call(ast.Name("within", ast.Load()), [ast.Constant(0), node.right], [])
            node.right = ast.BinOp(node.right, ast.Add(), tested)
        return ast.Call(ast.Name("within", ast.Load()), [node], [])

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        target = ast.parse(ast.unparse(node.target), mode="eval").body
        return ast.Assign([node.target], self.visit(ast.BinOp(target, node.op, node.value)))


def watched(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, which raises `Outside` where it does what is not translated exactly."""
    source = Path(function.__code__.co_filename).read_text("utf-8")
    tree = ast.fix_missing_locations(Watched().visit(ast.parse(source)))
    known: dict[str, Any] = {"within": within}
    exec(compile(tree, "watched", "exec"), known)  # noqa: S102 - the kernel above, of our own
    found: Callable[..., Any] = known["kernel"]
    return found


class Writer:
    """A random kernel, in which most numbers are small and most indices inside."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.loops = 0

    def block(self, names: list[str], depth: int, looping: bool) -> list[str]:
        lines = list[str]()
        for _ in range(self.chance.randint(1, 4)):
            lines += self.statement(names, depth, looping)
        return lines

    def statement(self, names: list[str], depth: int, looping: bool) -> list[str]:  # noqa: PLR0911
        chance = self.chance
        value, other = self.value(names, 2), self.value(names, 2)
        kind = chance.choice(("set", "set", "add", "store", "change", "both", "if", "for", "while"))
        if depth == 0 and kind in ("if", "for", "while"):
            kind = "set"
        if kind == "set":
            new = chance.choice([*(n for n in names if n[0] == "x"), f"x{len(names)}"])
            names.extend({new}.difference(names))
            return [f"{new} = {chance.choice((value, f'adding(u, {value})'))}"]
        if kind == "add":
            own = chance.choice([n for n in names if n[0] != "i"])
            return [f"{own} {chance.choice(('+', '-', '^', '&', '|', '*'))}= {value}"]
        table = chance.choice("tuvw")
        mask = {"t": "", "u": " & 65535", "v": " & 65535", "w": " & 255"}[table]
        if kind == "store":
            return [f"{table}[{self.index(names)}] = ({value}){mask}"]
        if kind == "change":
            return [f"{table}[{self.index(names)}] {chance.choice('&|')}= ({value}){mask}"]
        if kind == "both":
            own = chance.choice([n for n in names if n[0] != "i"])
            return [f"{own}, t[{own} & 7] = {value}, {other}"]
        if kind == "if":
            then = self.block([*names], depth - 1, looping)
            if looping and chance.random() < 0.3:
                then.append(chance.choice(("break", "continue")))
            found = [f"if {self.test(names)}:", *indented(then)]
            if chance.random() < 0.5:
                found += ["else:", *indented(self.block([*names], depth - 1, looping))]
            return found
        self.loops += 1
        own = f"i{self.loops}"
        if kind == "for":
            bounds = (f"range({value} & 7)", f"range(a & 3, {value} & 7)", "range(6, -1, -2)")
            inner = self.block([*names, own], depth - 1, looping=True)
            return [f"for {own} in {chance.choice(bounds)}:", *indented(inner)]
        inner = [f"{own} += 1", *self.block([*names, own], depth - 1, looping=True)]
        test = f"{own} < 5 and ({self.test(names)})"
        return [f"{own} = 0", f"while {test}:", *indented(inner)]

    def index(self, names: list[str]) -> str:
        inside = self.chance.random() < 0.97
        return f"({self.value(names, 1)}) & 7" if inside else self.value(names, 1)

    def test(self, names: list[str], depth: int = 1) -> str:
        chance = self.chance
        one, other = self.value(names, depth), self.value(names, depth)
        compared = f"{one} {chance.choice(('<', '<=', '==', '!=', '>', '>='))} {other}"
        if chance.random() < 0.7 or depth == 0:
            return chance.choice((compared, compared, f"not {one}", one))
        more = self.test(names, depth - 1)
        return chance.choice((f"{compared} and {more}", f"{compared} or not ({more})"))

    def value(self, names: list[str], depth: int) -> str:
        chance = self.chance
        if depth == 0 or chance.random() < 0.3:
            return chance.choice((*names, str(chance.randint(-20, 300)), "SEVEN", "len(t)"))
        one, other = self.value(names, depth - 1), self.value(names, depth - 1)
        form = chance.choice(
            (
                *("({one} {sign} {other})",) * 3,
                "({one} {quotient} {other})",
                "({one} {shift} ({other} & 15))",
                "-{one}",
                "({one} if {test} else {other})",
                "{function}({one}, {other})",
                "{table}[({one}) & 7]",
                "{table}[{one}]" if chance.random() < 0.05 else "{table}[{other} & 7]",
            )
        )
        return form.format(
            one=one,
            other=other,
            sign=chance.choice("+-+-&|^*"),
            quotient=chance.choice(("//", "%")),
            shift=chance.choice(("<<", ">>")),
            test=self.test(names, depth - 1),
            function=chance.choice(("min", "max", "plain", "wrapping_product")),
            table=chance.choice("tuvw"),
        )


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


KINDS = {"t": "q", "u": "i", "v": "H", "w": "B"}


def compare(seed: int, folder: Path) -> str:
    """Run a random kernel each way; what came of it."""
    chance = random.Random(seed)
    writer = Writer(chance)
    body = ["x2, x3 = 1, b & 15", *writer.block(["a", "b", "x2", "x3"], 3, looping=False)]
    function = kernel("\n".join([*body, "return x2 + a"]), folder)
    tables = {name: [chance.randint(0, 200) for _ in range(8)] for name in KINDS}
    given = chance.randint(-50, 50), chance.choice((0, 3, -1, 1 << 40))
    strict = [Strict(kind, tables[name]) for name, kind in KINDS.items()]
    try:
        expected: int | type[Exception] = watched(function)(*strict, *given)
    except (Outside, ZeroDivisionError, OverflowError) as error:
        expected = type(error)
    runners = (Interpreter(), Compiled(), Compiled(checked=True))
    for runner in runners[2:] if isinstance(expected, type) else runners:
        arrays = [runner.put(kind, tables[name]) for name, kind in KINDS.items()]
        if isinstance(expected, type):
            try:
                runner.run(function, *arrays, *given)
            except wasmtime.Trap:
                return "trap"
            return "outside"  # a product, or what is stored in few bits: that is not trapped
        assert runner.run(function, *arrays, *given) == expected, (seed, body)
        assert [list(one) for one in arrays] == strict, (seed, body)
    return "same"


def met_by(seeds: range, folder: Path) -> dict[str, int]:
    met = dict.fromkeys(("same", "trap", "outside", "refused"), 0)
    for seed in seeds:
        try:
            met[compare(seed, folder)] += 1
        except NotTranslated:
            met["refused"] += 1
    return met


def test_random_kernels_do_what_the_interpreter_does(tmp_path: Path) -> None:
    met = met_by(range(30), tmp_path)
    assert met["same"] > 8
    assert met["trap"] > 0


@pytest.mark.deep
def test_more_random_kernels(tmp_path: Path) -> None:
    assert met_by(range(1_000, 2_000), tmp_path)["same"] > 300


REFUSED = {
    "may be without a value": "if a:\n    x = 1\nreturn x",
    "x may be without a value": "while a:\n    x = 1\n    break\nreturn x",
    "i may be without a value": "for i in range(3):\n    a += i\nreturn i",
    "is not changed inside": "for i in range(3):\n    i += 1\nreturn 0",
    "never reached": "return 1\na = 2",
    "not translated as a number": "return a < b",
    "step of a loop": "for i in range(0, a, b):\n    pass\nreturn 0",
    "no integer of 64 bits": "return 1 << 3 if a else 9223372036854775808",
    "an array is no number": "return t",
    "an array is not assigned": "t = 3\nreturn 0",
    "Pow is not translated": "return a ** 2",
    "this is no array": "return a[0]",
    "this statement is not translated": "assert a\nreturn 0",
    "is not translated": "return abs(a)",
    "no array of the kind": "return adding(t, 1)",
    "ends with its value": "return nothing(a)",
    "what is written in place ends with its value": "return bare(a)",
    "only names and entries": "a.b = 3\nreturn 0",
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_could_mean_something_else_is_refused(reason: str, tmp_path: Path) -> None:
    with pytest.raises(NotTranslated, match=f"line [0-9]+ of the kernel: .*{reason}"):
        module(kernel(REFUSED[reason], tmp_path))


def test_more_that_is_refused(tmp_path: Path) -> None:
    for body in (
        "return 1.5",
        "return True",
        "return 1 if 0 < a < 3 else 2",
        "return a and b",
        "for i in t:\n    pass\nreturn 0",
        "for i in range(3):\n    pass\nelse:\n    a = 1\nreturn 0",
        "while a:\n    a = 0\nelse:\n    a = 1\nreturn 0",
        "return t[0:2]",
        "x = y = 3\nreturn x",
        "del a\nreturn 0",
        "return min(a, b, 3)",
        "return kernel(t, u, v, w, a, b=3)",
        "global SEVEN\nSEVEN = 3\nreturn 0",
        "x: int = a\nreturn (x := 3)",
        "return ~a",
        "return a / b",
        "break",
    ):
        with pytest.raises((NotTranslated, SyntaxError)):
            module(kernel(body, tmp_path))
    with pytest.raises(NotTranslated, match="a parameter is int"):
        module(kernel("return 0", tmp_path, head="a: float"))
    with pytest.raises(NotTranslated, match="have no default"):
        module(kernel("return 0", tmp_path, head="a: int = 3"))


@pytest.mark.parametrize(("left", "right"), [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (-6, 3)])
def test_quotients_and_rests_are_rounded_down(left: int, right: int, tmp_path: Path) -> None:
    for text in ("return a // b", "return a % b"):
        function = kernel(text, tmp_path, head="a: int, b: int")
        assert Compiled().run(function, left, right) == function(left, right)


def test_a_constant_is_read_as_it_was_written() -> None:
    """Signed LEB128: seven bits a byte, the lowest first; the last one's highest is the sign."""
    for value in (*range(-300, 300), *(s << p for p in (13, 20, 62) for s in (1, -1)), -(1 << 63)):
        encoded = _constant(value)
        numbers = encoded[1:]
        assert [byte >> 7 for byte in numbers] == [1] * (len(numbers) - 1) + [0]
        read = sum((byte & 127) << 7 * place for place, byte in enumerate(numbers))
        assert encoded[:1] == b"\x42"
        assert read - (numbers[-1] >> 6 << 7 * len(numbers)) == value


def test_a_product_keeps_its_low_bits(tmp_path: Path) -> None:
    function = kernel("return wrapping_product(a, b)", tmp_path, head="a: int, b: int")
    for left, right in ((3, 5), (1 << 62, 6), (-(1 << 63), -1), (-7046029254386353131, 12345)):
        assert Compiled().run(function, left, right) == wrapping_product(left, right)
        assert (wrapping_product(left, right) - left * right) % (1 << 64) == 0


def test_a_called_kernel_reads_the_array_that_it_is_given(tmp_path: Path) -> None:
    function = kernel("return 10 * second(u) + second(v)", tmp_path, head="u: I32, v: I32")
    runner = Compiled()
    tables = runner.put("i", [3, 5]), runner.put("i", [7, 9])
    assert runner.run(function, *tables) == function(*tables) == 59


TRAPS = (
    "return t[8]",
    "return t[-1]",
    "return a << 64",
    "return a >> -1",
    "return b + b",
    "t[9] = 1\nreturn 0",
)


@pytest.mark.parametrize("body", TRAPS)
def test_checked_kernels_trap(body: str, tmp_path: Path) -> None:
    runner, function = Compiled(checked=True), kernel(body, tmp_path, head="t: I64, a: int, b: int")
    with pytest.raises(wasmtime.Trap):
        runner.run(function, runner.new("q", 8), 1, 1 << 62)


def double(table: I64, narrow: I32, short: U16, byte: U8) -> int:
    for i in range(len(table)):
        table[i] += table[i]
    narrow[0], short[0], byte[0] = -5, 65535, 255
    return len(table) + len(narrow) + len(short) + len(byte)


def test_arrays_keep_their_places_while_the_memory_grows() -> None:
    runner = Compiled()
    first, others = runner.put("q", (1, -2, 1 << 61)), [runner.new(kind, 1) for kind in "iHB"]
    large = runner.new("q", 1 << 20)
    assert runner.run(double, first, *others) == 6
    assert (list(first), [each[0] for each in others]) == ([2, -4, 1 << 62], [-5, 65535, 255])
    large[-1] = 7
    larger = runner.enlarged(large, 1 << 21)
    assert (len(larger), larger[(1 << 20) - 1], larger[-1]) == (1 << 21, 7, 0)
    runner.release(larger)
    again = runner.new("q", 1 << 20)
    assert not any(again)
    assert list(first) == [2, -4, 1 << 62]


@pytest.mark.deep
def test_more_than_there_is_room_for_is_too_large() -> None:
    from proofs.core.explore import TooLarge

    with pytest.raises(TooLarge, match="MB of arrays are needed"):
        Compiled().new("q", 1 << 30)


def every_kernel() -> Iterator[Callable[..., Any]]:
    for name in list(sys.modules):
        if name.startswith("proofs."):
            for found in vars(sys.modules[name]).values():
                hints = getattr(found, "__annotations__", {})
                if getattr(found, "__module__", "") == name and "I32" in hints.values():
                    yield found


def test_every_kernel_is_translated() -> None:
    import proofs.systems.checking  # noqa: F401 - with all that it imports

    kernels = list(every_kernel())
    assert len(kernels) > 15
    for found in kernels:
        assert module(found)[:4] == b"\0asm"


def test_a_kernel_is_a_plain_function() -> None:
    same: Callable[..., int] = lambda a: a  # noqa: E731 - what is none
    with pytest.raises(NotTranslated, match="a kernel is a plain function"):
        module(same)


def test_kernels_are_compiled_anew_for_an_engine_that_has_more_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The modules of the engine before cannot run beside the memory of this one."""
    before, reserve, refused = Compiled(), Compiled._reserve, list[Compiled]()
    labels = [3, 0, 2]
    assert before.run(has_hidden, before.put("i", labels)) == 1

    def refuse_once(runner: Compiled) -> None:
        if not refused:
            refused.append(runner)
            raise wasmtime.WasmtimeError("no room")
        reserve(runner)

    monkeypatch.setattr(Compiled, "_reserve", refuse_once)
    after = Compiled()
    assert len(refused) == 1
    assert after.run(has_hidden, after.put("i", labels)) == 1
    assert after.run(has_hidden, after.put("i", [3, 2])) == 0

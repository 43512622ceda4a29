"""Expressions of rules: grammar, types, and three evaluators that agree."""

from __future__ import annotations

from functools import cache, partial
from itertools import product

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from pxp_fsm.automata import expressions
from pxp_fsm.automata.arithmetic import (
    Atom,
    Case,
    Linear,
    atom,
    cases,
    cases_of_all,
    negation,
    refute,
    value_in,
    whole_numbers,
)
from pxp_fsm.automata.expressions import (
    BOOL,
    FALSE,
    ID,
    INT,
    TRUE,
    Compare,
    Conditional,
    Conjunction,
    Constant,
    Disjunction,
    Expression,
    ExpressionError,
    Let,
    Membership,
    Multiple,
    Name,
    Negated,
    Operator,
    Sum,
    Type,
    Value,
    compiled,
    enumeration,
    evaluate,
    name_problem,
    parse_expression,
    str_of,
)
from tests.oracles.rule_grammar import Shape, shape
from tests.sampling import swept

TAGS = enumeration({"INIT", "RATIFY", "REJECT"})
NAMES: dict[str, Type] = {
    "j": INT,
    "k": INT,
    "match": BOOL,
    "limited": BOOL,
    "last": TAGS,
    "file": ID,
    "seen": ID,
}
MEMBERS = sorted(TAGS.members)


def read(text: str) -> Expression:
    return parse_expression(text, NAMES, MEMBERS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("not match and limited", "(not match) and limited"),
        ("match and limited or match", "(match and limited) or match"),
        ("not match == limited", "not (match == limited)"),
        ("j + 1 > 2*k", "(j + 1) > (2*k)"),
        ("j - 1 - k == 0", "((j - 1) - k) == 0"),
        ("-j + k < 0", "((-j) + k) < 0"),
        ("j if match else k if limited else 0", "j if match else (k if limited else 0)"),
        ("last not in {INIT, REJECT}", "not (last in {INIT, REJECT})"),
        ("j<=k", "j\n  <=\tk"),
    ],
)
def test_operators_bind_as_in_python(text: str, expected: str) -> None:
    for values in worlds():
        assert evaluate(read(text), values) == evaluate(read(expected), values)


def worlds() -> list[dict[str, Value]]:
    numbers, truths = (-1, 0, 1, 2), (False, True)
    return [
        {"j": j, "k": k, "match": match, "limited": limited, "last": last}
        for j, k, match, limited, last in product(numbers, numbers, truths, truths, MEMBERS)
    ]


REFUSED = {
    "": ("is empty", 0),
    "j >": ("ends too early", 3),
    "(j > 0": ("ends too early; expected there: )", 6),
    "j > 0 andmatch": ("cannot be read from 'andmatch' on", 6),
    "match)": ("expected there: + or -, a comparison (== != <= >= < >), and, if, in, not", 5),
    "match if limited): j": (", and, else, in, not, or", 16),
    "2*3*j > 0": ("a product is of a literal with a name", 3),
    "last in {INIT} + 1": ("expected there: and, if, or, the end", 15),
    "last in {}": ("expected there: a name", 9),
    "last not INIT": ("expected there: in", 9),
    "j < k < 3": ("not chained; write a < b and b < c", 6),
    "j && match": ("write and", 2),
    "match || match": ("write or", 6),
    "!match": ("write not", 0),
    "j = 3": ("write == to compare", 2),
    "j*k > 0": ("a product is of a literal with a name", 1),
    "j / 2 > 0": ("no division", 2),
    "last == 'INIT'": ("without quotes", 8),
    "07 > j": ("no leading 0", 0),
    "1234567890123456789 > j": ("at most 18 digits", 0),
    "3j > 0": ("no letter behind it", 0),
    "j(k)": ("no calls", 1),
    "jj > 0": ("did you mean j", 0),
    "lst == INIT": ("did you mean last", 0),
    "j ≤ k": ("write <=", 2),
    "match + 1 > 0": ("match is a truth value, and a whole number belongs here", 0),
    "j and match": ("j is a whole number, and a truth value belongs here", 0),
    "j == match": ("values of one type alone can be compared", 0),
    "last < INIT": ("< compares whole numbers", 0),
    "file < seen": ("< compares whole numbers", 0),
    "last in {OTHER}": ("OTHER is none of the members of last", 9),
    "j in {INIT}": ("an enumeration's members", 0),
    "j if match else last": ("both ways of if ... else have one type", 0),
    "1.5 > j": ("no fractions", 1),
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_refusal_names_the_place_and_the_remedy(text: str) -> None:
    said, position = REFUSED[text]
    with pytest.raises(ExpressionError) as refused:
        read(text)
    assert said in str(refused.value)
    assert refused.value.position == position


@pytest.mark.parametrize("text", ["(" * 500 + "match" + ")" * 500, "not " * 400 + "match"])
def test_what_is_nested_too_deeply_is_refused(text: str) -> None:
    if text.startswith("("):  # parentheses alone are no levels
        assert read(text) == Name("match", BOOL)
        return
    with pytest.raises(ExpressionError, match="nested too deeply"):
        read(text)


def test_a_definition_is_not_larger_than_what_it_means() -> None:
    doubled: Expression = read("match")
    with pytest.raises(ExpressionError, match="too large once the names"):
        for _ in range(20):
            doubled = parse_expression("d and d", {}, (), {"d": doubled})


def test_an_enumeration_is_the_set_of_its_members() -> None:
    other = {"last": TAGS, "answer": enumeration({"YES", "NO"})}
    with pytest.raises(ExpressionError, match="no member in common"):
        parse_expression("last == answer", other, ())
    assert read("INIT if match else REJECT").type == enumeration({"INIT", "REJECT"})


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("größe", None),
        ("_x", None),
        ("a²", "is no name"),
        ("or", "a word of the expressions"),
        ("x" * 65, "is no name"),
        ("e\u0301", "form NFC"),
        ("two words", "is no name"),
    ],
)
def test_which_names_can_be_declared(name: str, problem: str | None) -> None:
    found = name_problem(name)
    assert found is None if problem is None else problem in (found or "")
    if problem is None:
        assert parse_expression(f"{name} > 0", {name: INT}).type == BOOL


# Random expressions of a type, over the names above.

OPERATORS: tuple[Operator, ...] = ("==", "!=", "<=", ">=", "<", ">")
numbers = st.integers(0, 3)


@cache
def of_type(wanted: Type, depth: int = 4) -> st.SearchStrategy[Expression]:
    names = [Name(name, type_) for name, type_ in NAMES.items() if type_ == wanted]
    leaves: list[st.SearchStrategy[Expression]] = [st.sampled_from(names)]
    if wanted == INT:
        leaves.append(st.builds(lambda value: Constant(value, INT), numbers))
    elif wanted == BOOL:
        leaves.append(st.sampled_from([TRUE, FALSE]))
    elif wanted == TAGS:
        leaves.append(
            st.sampled_from([Constant(member, enumeration({member})) for member in MEMBERS])
        )
    if depth == 0:
        return st.one_of(leaves)
    deeper = depth - 1
    condition = of_type(BOOL, deeper)
    if wanted == INT:
        part = of_type(INT, deeper)
        parts = st.lists(part, min_size=2, max_size=3)
        leaves += [
            st.builds(lambda some: Sum(tuple(some)), parts),
            st.builds(Multiple, st.integers(-1, 3), part),
        ]
    elif wanted == BOOL:
        several = st.lists(condition, min_size=2, max_size=3)
        same = st.sampled_from([INT, BOOL, ID])
        tag = st.sampled_from([Constant(member, enumeration({member})) for member in MEMBERS])
        leaves += [
            st.builds(Negated, condition),
            st.builds(lambda some: Conjunction(tuple(some)), several),
            st.builds(lambda some: Disjunction(tuple(some)), several),
            st.builds(
                Compare, st.sampled_from(OPERATORS), of_type(INT, deeper), of_type(INT, deeper)
            ),
            same.flatmap(
                lambda type_: st.builds(
                    Compare,
                    st.sampled_from(OPERATORS[:2]),
                    of_type(type_, deeper),
                    of_type(type_, 0),
                )
            ),
            st.builds(Compare, st.sampled_from(OPERATORS[:2]), st.just(Name("last", TAGS)), tag),
            st.builds(
                Membership,
                st.just(Name("last", TAGS)),
                st.lists(st.sampled_from(MEMBERS), min_size=1, max_size=2, unique=True).map(tuple),
            ),
        ]
    then, otherwise = of_type(wanted, deeper), of_type(wanted, deeper)
    leaves.append(st.builds(_conditional, condition, then, otherwise))
    return st.one_of(leaves)


def _conditional(test: Expression, then: Expression, otherwise: Expression) -> Expression:
    members = then.type.members | otherwise.type.members
    return Conditional(test, then, otherwise, Type(then.type.name, members))


VALUES = st.fixed_dictionaries(
    {
        "j": st.integers(-5, 5),
        "k": st.integers(-5, 5),
        "match": st.booleans(),
        "limited": st.booleans(),
        "last": st.sampled_from(MEMBERS),
        "file": st.sampled_from(["a", "b"]),
        "seen": st.sampled_from(["a", "b"]),
    }
)


def of_any_type(depth: int) -> st.SearchStrategy[Expression]:
    return st.one_of(*(of_type(wanted, depth) for wanted in (BOOL, INT, TAGS)))


@settings(max_examples=150)
@given(of_any_type(2), VALUES)
def test_compiled_interpreted_symbolic_and_z3_agree(
    expression: Expression, values: dict[str, Value]
) -> None:
    check_evaluators(expression, values)


@pytest.mark.deep
@settings(max_examples=swept(1_000))
@given(of_any_type(4), VALUES)
def test_evaluators_agree_on_large_expressions(
    expression: Expression, values: dict[str, Value]
) -> None:
    check_evaluators(expression, values)


def check_evaluators(expression: Expression, values: dict[str, Value]) -> None:
    """All evaluators say the same of `expression`."""
    expected = evaluate(expression, values)
    assert compiled(expression, list(values))(*values.values()) == expected
    known = list(cases(lambda case: value_in(expression, case, values)))
    assert [result for _, result in known] == [_form(expected)]
    assert _by_z3(expression, values) == expected
    if isinstance(expected, bool):
        _cases_cover(expression, values, expected)


def _form(value: Value) -> Value | Linear:
    return Linear((), value) if type(value) is int else value


def _cases_cover(expression: Expression, values: dict[str, Value], expected: bool) -> None:
    """Of all cases exactly one is that of `values`, and it says the same; none is refuted."""
    numbers = {name: value for name, value in values.items() if type(value) is int}
    numbers |= {name: ord(str(values[name])) for name in ("file", "seen")}
    found = list(cases(lambda case: value_in(expression, case)))
    assert all(refute(case.atoms) is None for case, _ in found)
    fitting = [
        result
        for case, result in found
        if all(values[name] in options for name, options in case.options.items())
        and all(one.at(numbers) <= 0 for one in case.atoms)
    ]
    assert fitting == [expected]


CONDITIONS = (
    *("j <= k", "j > k", "j < 1", "k >= 1", "j + k > 2", "2*j <= k", "j == k", "j != 1"),
    *("match", "match == limited", "match and j <= 0 or limited and k > 0"),
    *("last == INIT", "last != REJECT", "last in {INIT, REJECT}", "match and last == RATIFY"),
)


@given(st.lists(st.sampled_from(CONDITIONS), min_size=2, max_size=5), st.sampled_from(worlds()))
def test_cases_of_several_expressions_exclude_each_other_and_leave_nothing_out(
    texts: list[str], world: dict[str, Value]
) -> None:
    conditions = [read(text) for text in texts]
    found = list(cases_of_all([partial(value_in, condition) for condition in conditions]))
    assert all(refute(case.atoms) is None for case, _ in found)
    numbers = {name: value for name, value in world.items() if type(value) is int}
    fitting = [
        results
        for case, results in found
        if all(world[name] in options for name, options in case.options.items())
        and all(one.at(numbers) <= 0 for one in case.atoms)
    ]
    assert fitting == [tuple(evaluate(condition, world) for condition in conditions)]


def test_a_name_with_many_members_is_asked_for_once_in_a_case(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, answer = [0], Case._answer

    def counting(case: Case, count: int) -> int:
        asked[0] += 1
        return answer(case, count)

    monkeypatch.setattr(Case, "_answer", counting)
    many = enumeration({f"M{number}" for number in range(30)})
    same = parse_expression("one == other", {"one": many, "other": many})
    found = list(cases(lambda case: value_in(same, case)))
    assert [result for _, result in found].count(True) == 30
    assert len({(*case.options.items(),) for case, _ in found}) == len(found) == 900
    assert asked[0] == 2 * 900


def _by_z3(expression: Expression, values: dict[str, Value]) -> Value:
    places = {name: number for number, name in enumerate([*MEMBERS, "a", "b"])}

    def term(part: Expression) -> z3.ExprRef:  # noqa: PLR0911 - one a form
        match part:
            case Constant(value):
                return _literal(value)
            case Name(name):
                return z3.Bool(name) if part.type == BOOL else z3.Int(name)
            case Let(_, value):
                return term(value)
            case Negated(of):
                return z3.Not(term(of))
            case Conjunction(parts):
                return z3.And(*map(term, parts))
            case Disjunction(parts):
                return z3.Or(*map(term, parts))
            case Membership(of, members):
                return z3.Or(*[term(of) == places[member] for member in members])
            case Sum(parts):
                return z3.Sum(*map(term, parts))
            case Multiple(factor, of):
                return factor * term(of)
            case Conditional(test, then, otherwise):
                return z3.If(term(test), term(then), term(otherwise))
            case Compare(operator, left, right):
                one, other = term(left), term(right)
                return {
                    "==": lambda: one == other,
                    "!=": lambda: one != other,
                    "<": lambda: one < other,
                    "<=": lambda: one <= other,
                    ">": lambda: one > other,
                    ">=": lambda: one >= other,
                }[operator]()

    def _literal(value: Value) -> z3.ExprRef:
        if isinstance(value, bool):
            return z3.BoolVal(value)
        return z3.IntVal(places[value] if isinstance(value, str) else value)

    replaced = [
        (z3.Bool(name) if isinstance(value, bool) else z3.Int(name), _literal(value))
        for name, value in values.items()
    ]
    found = z3.simplify(z3.substitute(term(expression), *replaced))
    if z3.is_bool(found):
        return bool(z3.is_true(found))
    number = int(found.as_long())
    if not expression.type.members:
        return number
    return next(name for name, place in places.items() if place == number)


@settings(max_examples=150)
@given(of_any_type(2))
def test_what_is_written_is_read_back_with_the_same_meaning(expression: Expression) -> None:
    check_text(expression)


@pytest.mark.deep
@settings(max_examples=swept(1_000))
@given(of_any_type(4))
def test_large_expressions_are_read_back(expression: Expression) -> None:
    check_text(expression)


def shape_read(part: expressions._Part | str) -> Shape:
    """What the product reads, as the grammar's parser says it."""
    if isinstance(part, str):
        return part
    if part.rule in ("name", "number"):
        return shape_read(part.items[0])
    return (part.rule, *map(shape_read, part.items))


WORDS = (
    *("and", "or", "not", "if", "else", "in", "true", "(", ")", "{", "}", ",", "+", "-", "*"),
    *("==", "<", ">=", "0", "23", "01", "n", "flag", "RED", "a.b", "é", "\n", "=", "1x", "&"),
)


def check_shape(text: str) -> None:
    """The product and the grammar read it alike, or both refuse it."""
    try:
        part = expressions._Parser(text).read()
        assert expressions._levels(part) <= len(text) + 1
        found = shape_read(part)
    except ExpressionError:
        found = None
    assert found == shape(text), text


@given(st.lists(st.sampled_from(WORDS), max_size=12), st.sampled_from(["", " "]))
def test_words_are_read_as_the_grammar_says(words: list[str], between: str) -> None:
    check_shape(between.join(words))


@given(of_any_type(3), st.integers(0, 40), st.sampled_from(WORDS))
def test_expressions_and_slips_in_them_are_read_as_the_grammar_says(
    expression: Expression, place: int, word: str
) -> None:
    words = str_of(expression).split()
    check_shape(" ".join(words))
    words.insert(place % (len(words) + 1), word)
    check_shape(" ".join(words))


def check_text(expression: Expression) -> None:
    """What is written of `expression` is read back with the same meaning."""
    again = read(str_of(expression))
    assert expressions._measure(again)[0] <= len(str_of(expression))
    assert str_of(again) == str_of(expression)
    for values in worlds()[::37]:
        values |= {"file": "a", "seen": "b"}
        assert evaluate(again, values) == evaluate(expression, values)


def test_no_text_of_a_file_reaches_the_compiler() -> None:
    """Names and members are arguments and constants, whatever characters they have."""
    odd = "__import__('os')"
    expression = Compare("==", Name(odd, enumeration({odd})), Constant(odd, enumeration({odd})))
    function = compiled(expression, [odd])
    assert function(odd) is True
    assert odd not in function.__code__.co_names + function.__code__.co_varnames
    assert function.__globals__ == {"__builtins__": {}}


# Linear arithmetic against Z3.

FORMS = st.builds(
    lambda terms, constant: Linear(
        tuple(sorted((name, times) for name, times in terms.items() if times)), constant
    ),
    st.dictionaries(st.sampled_from("xyz"), st.integers(-3, 3)),
    st.integers(-4, 4),
)


def _in_z3(forms: list[Linear]) -> z3.Solver:
    solver = z3.Solver()
    for form in forms:
        solver.add(z3.Sum([z3.IntVal(form.constant), *(n * z3.Int(x) for x, n in form.terms)]) <= 0)
    return solver


@given(st.lists(FORMS, max_size=6))
def test_what_is_refuted_has_no_whole_numbers_and_the_factors_show_it(forms: list[Linear]) -> None:
    atoms = [atom(form) for form in forms]
    expected = _in_z3(forms).check()
    factors = refute(atoms)
    numbers = whole_numbers(atoms, "xyz")
    if factors is not None:
        assert expected == z3.unsat
        total = Linear()
        for one, factor in factors.items():
            assert factor > 0
            total = total.plus(one, factor)
        assert not total.terms
        assert total.constant > 0
    if numbers is not None:
        assert expected == z3.sat
        assert all(form.at(numbers) <= 0 for form in forms)
    if expected == z3.sat:
        assert numbers is not None


@given(FORMS, st.fixed_dictionaries({name: st.integers(-9, 9) for name in "xyz"}))
def test_an_atom_or_its_negation_holds(form: Linear, values: dict[str, int]) -> None:
    one: Atom = atom(form)
    assert (one.at(values) <= 0) == (form.at(values) <= 0)
    assert (negation(one).at(values) <= 0) == (one.at(values) > 0)

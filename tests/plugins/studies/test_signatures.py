"""Addresses that a panel signs: with real keys, forged, altered, late, and used again."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import example, given, settings
from hypothesis import strategies as st

import pxp_fsm as pxp
from backends.databases import tokens
from pxp_fsm.errors import FileError, Refused, UsageError
from pxp_fsm.plugins.studies.conduct import Conduct
from pxp_fsm.plugins.studies.files import Study, load_study
from pxp_fsm.plugins.studies.pages.participants import Arrivals
from pxp_fsm.plugins.studies.signatures import Check, signature_check
from tests.plugins.studies.experts import drug
from tests.plugins.studies.studies import study_server
from tests.web.experts import BASE

NETWORKS = Path("examples/studies/easylan.toml")
ISSUER = "https://www.prolific.com"
SECRET = "a secret of the panel"  # noqa: S105 - of these tests
TOKEN = f"""
[payment.signature]
algorithm = "RS256"
parameter = "prolific_token"
keys = "keys.json"
issuer = "{ISSUER}"
claims = "prolific"
"""
HASH = """
[payment.signature]
algorithm = "HMAC-SHA256"
parameter = "hash"
secret = "PANEL_SECRET"
"""


@pytest.fixture(scope="module")
def key() -> RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


@pytest.fixture(scope="module")
def other_key() -> RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


def written(key: RSAPrivateKey, kid: str = "k1", **more: str) -> dict[str, Any]:
    public: dict[str, Any] = jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {**public, "kid": kid, "alg": "RS256", "use": "sig", **more}


def signed_study(folder: Path, table: str, *keys: dict[str, Any]) -> Study:
    (folder / "keys.json").write_text(json.dumps({"keys": keys}), "utf-8")
    path = folder / "study.toml"
    text = NETWORKS.read_text("utf-8")
    at = text.index("\n[[arms]]")
    path.write_text(text[:at] + table + text[at:], "utf-8")
    return load_study(path)


def parameters(study: Study, who: str = "5f3c") -> dict[str, str]:
    accepted = study.payment.accepted
    return {name: accepted.get(name, (who,))[0] for name in study.payment.parameters}


def claims_of(known: dict[str, str], **changed: Any) -> dict[str, Any]:
    now = int(time.time())
    of_panel = {**known, "workspace_id": "w"}
    times = {"iat": now, "nbf": now, "exp": now + 600}
    claims = {"iss": ISSUER, "aud": f"{BASE}/", "prolific": of_panel, **times, **changed}
    return {name: value for name, value in claims.items() if value is not None}


def sent(known: dict[str, str], key: Any, alg: str = "RS256", **changed: Any) -> str:
    token = jwt.encode(claims_of(known, **changed), key, alg, headers={"kid": "k1"})
    return f"{BASE}/?{urlencode({**known, 'prolific_token': token})}"


def unsecured(part: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


def check(study: Study, address: str, known: dict[str, str] | None = None) -> str:
    """The mark of an address, as a server would check it."""
    came = dict(reversed(parse_qsl(address.partition("?")[2])))
    names = study.payment.parameters
    return signature_check(study)(address, came, known or {name: came[name] for name in names})


def test_a_token_of_the_panel_is_taken_with_each_form_of_its_audience(
    tmp_path: Path, key: RSAPrivateKey
) -> None:
    study = signed_study(tmp_path, TOKEN, written(key), written(key, "older"), {"kty": "EC"})
    known = parameters(study)
    host = BASE.partition("//")[2]
    for audience in (BASE, f"{BASE}/?PROLIFIC_PID=x", host, ["https://elsewhere.example", BASE]):
        assert len(check(study, sent(known, key, aud=audience))) == 64
    late = int(time.time()) - 30
    assert check(study, sent(known, key, exp=late))  # clocks differ
    assert check(study, sent(known, key, nbf=int(time.time()) + 30))


ATTACKS: dict[str, tuple[dict[str, Any], str]] = {
    "expired": ({"exp": 1_000_000_000}, "expired"),
    "not yet valid": ({"nbf": 33_000_000_000}, "not valid yet"),
    "issued later": ({"iat": 33_000_000_000}, "not valid yet"),
    "without an end": ({"exp": None}, "not the panel's"),
    "with an end that is none": ({"exp": "never"}, "not the panel's"),
    "of another issuer": ({"iss": "https://evil.example"}, "not the panel's"),
    "without an issuer": ({"iss": None}, "not the panel's"),
    "for another server": ({"aud": "https://lab.example"}, "another address"),
    "for a server with our name in its own": ({"aud": f"{BASE}.evil.example"}, "another address"),
    "for us as a user of another": ({"aud": f"{BASE}@evil.example"}, "another address"),
    "for no address": ({"aud": "http://[::1"}, "another address"),
    "for a number": ({"aud": [3]}, "another address"),
    "without an audience": ({"aud": None}, "not the panel's"),
    "without parameters": ({"prolific": None}, "other parameters"),
    "with parameters that are none": ({"prolific": "STUDY_ID"}, "other parameters"),
    "with some parameters": ({"prolific": {"PROLIFIC_PID": "5f3c"}}, "other parameters"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_token_of_the_panel_that_is_for_something_else_is_refused(
    attack: str, tmp_path: Path, key: RSAPrivateKey
) -> None:
    study = signed_study(tmp_path, TOKEN, written(key))
    changed, reason = ATTACKS[attack]
    with pytest.raises(Refused, match=reason):
        check(study, sent(parameters(study), key, **changed))


def test_a_token_counts_for_its_own_parameters_alone(tmp_path: Path, key: RSAPrivateKey) -> None:
    study = signed_study(tmp_path, TOKEN, written(key))
    known = parameters(study)
    for name in known:
        address = sent(known, key).replace(known[name], "another", 1)
        with pytest.raises(Refused, match="other parameters"):
            check(study, address)
    several = sent(known, key).replace("PROLIFIC_PID=5f3c", "PROLIFIC_PID=x&PROLIFIC_PID=5f3c")
    with pytest.raises(Refused, match="other parameters"):
        check(study, several)  # of two of a name the first one counts


def test_who_has_no_key_of_the_panel_forges_nothing(
    tmp_path: Path, key: RSAPrivateKey, other_key: RSAPrivateKey
) -> None:
    study = signed_study(tmp_path, TOKEN, written(key))
    known = parameters(study)
    claims = claims_of(known)
    pem = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head = {"alg": "HS256", "typ": "JWT", "kid": "k1"}
    confused = f"{unsecured(head)}.{unsecured(claims)}"  # the public key as the secret of an HMAC
    tag = hmac.digest(pem, confused.encode(), "sha256")
    own = {**head, "alg": "RS256", "jwk": written(other_key), "jku": "https://evil.example/"}
    right = sent(known, key).partition("prolific_token=")[2]
    first, payload, signature = right.split(".")
    forged = [
        "",
        "x",
        "..",
        "a.b.c",
        "9" * 5000,
        f"{confused}.{base64.urlsafe_b64encode(tag).rstrip(b'=').decode()}",
        *(
            f"{unsecured({**head, 'alg': alg})}.{unsecured(claims)}."
            for alg in ("none", "None", "")
        ),
        f"{unsecured({'alg': 'none', 'kid': 'k1'})}.{payload}.{signature}",
        jwt.encode(claims, other_key, "RS256", headers={"kid": "k1"}),
        jwt.encode(claims, other_key, "RS256", headers=own),
        jwt.encode(claims, key, "RS256", headers={"kid": "k2"}),
        jwt.encode(claims, key, "RS256"),
        jwt.encode(claims, key, "RS512", headers={"kid": "k1"}),
        jwt.encode(claims, key, "PS256", headers={"kid": "k1"}),
        jwt.encode(claims, key, "RS256", headers={"kid": "k1", "crit": ["b64"], "b64": False}),
        f"{first}.{payload}.",
        f"{first}.{payload}.{'A' * len(signature)}",
        f"{first}.{unsecured({**claims, 'exp': 33_000_000_000})}.{signature}",
        f"{unsecured({'alg': 'RS256', 'kid': ['k1']})}.{payload}.{signature}",
        f"{base64.urlsafe_b64encode(b'[' * 3000).decode()}.{payload}.{signature}",
        f"{base64.urlsafe_b64encode(b'[]').decode()}.{payload}.{signature}",
    ]
    for token in forged:
        with pytest.raises(Refused, match="the signature of this address is not right"):
            check(study, f"{BASE}/?{urlencode({**known, 'prolific_token': token})}")


def test_new_keys_are_read_while_the_server_runs(
    tmp_path: Path, key: RSAPrivateKey, other_key: RSAPrivateKey, capfd: pytest.CaptureFixture[str]
) -> None:
    study = signed_study(tmp_path, TOKEN, written(key))
    known, checked = parameters(study), signature_check(study)

    def taken(by: RSAPrivateKey) -> bool:
        address = sent(known, by)
        came = dict(parse_qsl(address.partition("?")[2]))
        try:
            return bool(checked(address, came, known))
        except Refused:
            return False

    assert (taken(key), taken(other_key)) == (True, False)
    (tmp_path / "keys.json").write_text("{", "utf-8")
    assert (taken(key), taken(other_key)) == (True, False)
    (tmp_path / "keys.json").unlink()
    assert taken(key)
    (tmp_path / "keys.json").write_text(json.dumps({"keys": [written(other_key)]}), "utf-8")
    assert (taken(key), taken(other_key)) == (False, True)


def hashed(text: str, known: dict[str, str], how: Callable[[bytes], str], cut: int = 0) -> str:
    base = f"{text}{urlencode(known)}&"
    digest = hmac.digest(SECRET.encode(), base[: len(base) - cut].encode(), "sha256")
    return f"{base}hash={how(digest)}"


def in_base64(digest: bytes) -> str:
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


@pytest.fixture
def hash_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    monkeypatch.setenv("PANEL_SECRET", SECRET)
    return signed_study(tmp_path, HASH)


def test_the_documented_example_of_a_panel_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PANEL_SECRET", "secret_hash_key")  # cherries.readme.io, "Hashing"
    study = signed_study(tmp_path, HASH)
    address = "https://grabcherries.com/begin?sid=abc&pid=123&mid=456"
    example_hash = "asd-eDSLSbAGCxnkZtYWtccsmREDr3EZoiHUSr4X5wE"
    assert check(study, f"{address}&hash={example_hash}", {"pid": "123"})
    with pytest.raises(Refused):
        check(study, f"{address.replace('123', '124')}&hash={example_hash}", {"pid": "124"})


@pytest.mark.parametrize("how", [in_base64, bytes.hex, lambda tag: base64.b64encode(tag).decode()])
@pytest.mark.parametrize("cut", [0, 1])
def test_an_address_with_its_hash_is_taken(
    hash_study: Study, how: Callable[[bytes], str], cut: int
) -> None:
    known = parameters(hash_study)
    address = hashed(f"{BASE}/?", known, how, cut)
    mark = check(hash_study, address)
    assert mark == check(hash_study, hashed(f"{BASE}/?", known, in_base64, cut))
    quoted = address.replace("+", "%2B").replace("/&", "%2F&")
    assert mark == check(hash_study, quoted)


def test_an_address_with_another_hash_is_refused(hash_study: Study) -> None:
    known = parameters(hash_study)
    right = hashed(f"{BASE}/?", known, in_base64, 1)
    base, _, written_hash = right.partition("&hash=")
    plain = hashlib.sha256(base.encode()).hexdigest()
    unkeyed = hmac.digest(b"", base.encode(), "sha256").hex()
    sha1 = hmac.digest(SECRET.encode(), base.encode(), "sha1").hex()
    for address in (
        base,
        f"{base}&hash=",
        *(f"{base}&hash={forged}" for forged in (plain, unkeyed, sha1, "x", "%00", "\u0661" * 64)),
        right.replace("5f3c", "5f3d"),
        right.replace(BASE, "https://lab.example"),
        f"{right}&PROLIFIC_PID=x",  # behind the hash nothing is signed
        f"{base}&hash={written_hash[:-1]}",
        f"{base}?hash={written_hash}",  # or the last parameter would be another one
        f"{base}%26hash={written_hash}",
        f"{base}&x=y&hash={written_hash}",
        f"{BASE}/?PROLIFIC_PID=x&hash={written_hash}#{base}&hash={written_hash}",
    ):
        with pytest.raises(Refused, match="the signature of this address is not right"):
            check(hash_study, address, known)


def test_nobody_is_checked_without_a_secret(hash_study: Study, monkeypatch: Any) -> None:
    for secret in ("", "short"):
        monkeypatch.setenv("PANEL_SECRET", secret)
        with pytest.raises(UsageError, match="PANEL_SECRET has no secret of at least 12"):
            signature_check(hash_study)
    monkeypatch.delenv("PANEL_SECRET")
    with pytest.raises(UsageError, match="set it to the one that the panel gave you"):
        signature_check(hash_study)


CHECKS: list[Check] = []
"""A check of each kind, for the property below."""


@pytest.fixture(scope="module")
def checks(tmp_path_factory: pytest.TempPathFactory, key: RSAPrivateKey) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PANEL_SECRET", SECRET)
        for table in (TOKEN, HASH):
            study = signed_study(tmp_path_factory.mktemp("study"), table, written(key))
            CHECKS.append(signature_check(study))


@pytest.mark.usefixtures("checks")
@settings(max_examples=200)
@given(st.text(max_size=60), st.text(alphabet="abc019-_=%+/", max_size=80))
@example("x", "é")
def test_no_address_is_an_error(secret_text: str, hash_text: str) -> None:
    for checked in CHECKS:
        for address in (f"{BASE}/?a={secret_text}&hash={hash_text}", secret_text):
            came = {"prolific_token": secret_text, "hash": hash_text}
            with pytest.raises(Refused):
                checked(address, came, {"a": secret_text})


def test_an_address_takes_one_place_however_often_it_comes(
    tmp_path: Path, key: RSAPrivateKey
) -> None:
    study = signed_study(tmp_path, TOKEN, written(key))
    known = parameters(study, "replayed")
    address = sent(known, key)
    with study_server(study, tmp_path / "people.sqlite") as there:
        conduct = there.host.conduct
        conduct.raise_event("OPEN")

        def comes(address: str) -> tuple[int, str]:
            """Open an address, and press the button of its page."""
            shown = there.client.get(address)
            button = re.search(r'action="([^"]*)"', shown.text)
            if shown.status_code != 200 or button is None:
                return shown.status_code, shown.text
            assert "prolific_token" not in button[1]
            pressed = there.client.post(unescape(button[1]), headers={"origin": BASE})
            there.client.cookies.clear()
            return pressed.status_code, pressed.text

        assert [comes(address)[0] for _ in range(3)] == [200] * 3
        assert conduct.subjects == ("p001",)
        assert tokens.is_used(conduct.board, study.run, check(study, address))
        unsigned = address.partition("&prolific_token")[0]
        for wrong in (unsigned, address.replace("replayed", "another"), address[:-9]):
            status, text = comes(wrong)
            assert (status, "signature of this address" in text) == (403, True)
        conduct.act("p001", "WITHDRAW")
        status, text = comes(address)  # whose holder is forgotten
        assert (status, "this address has been used" in text) == (403, True)
        assert conduct.subjects == ("p001",)
        bearer = {"authorization": f"Bearer {address.partition('prolific_token=')[2]}"}
        assert there.client.get("/api/participant", headers=bearer).status_code == 403
    with Conduct(study, pxp.open_blackboard(tmp_path / "people.sqlite")) as later:
        with pytest.raises(Refused, match="has been used"):
            Arrivals(later).page(dict(parse_qsl(address.partition("?")[2])), address)
        again = sent(known, key, iat=int(time.time()) - 5)  # the panel sends them once more
        assert Arrivals(later).page(dict(parse_qsl(again.partition("?")[2])), again)


WRONG = {
    "no set": ("[]", "is no JSON Web Key Set"),
    "no JSON": ("{", "is no JSON Web Key Set"),
    "no keys": ('{"keys": []}', "there is no RSA key for RS256 with a kid"),
    "no list": ('{"keys": 3}', "is no JSON Web Key Set"),
    "a secret": ('{"keys": [{"kty": "oct", "kid": "k1", "k": "AA"}]}', "there is no RSA key"),
    "no modulus": ('{"keys": [{"kty": "RSA", "kid": "k1"}]}', "the key 'k1' is none"),
    "a number": ('{"keys": [{"kty": "RSA", "kid": "k1", "n": 3, "e": 4}]}', "the key 'k1' is none"),
    "deep": ("[" * 90_000, "is no JSON Web Key Set"),
    "long": (" " * 100_001, "keys.json"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_file_without_keys_is_told_with_its_line(wrong: str, tmp_path: Path) -> None:
    text, told = WRONG[wrong]
    (tmp_path / "keys.json").write_text(text, "utf-8")
    with pytest.raises(FileError) as raised:
        drug(tmp_path, **{'\n[[arms]]\nname = "interact"': f'{TOKEN}\n[[arms]]\nname = "interact"'})
    assert told in str(raised.value)
    assert all(fault.line is not None for fault in raised.value.faults)


def test_a_private_key_and_a_short_one_are_refused(tmp_path: Path, key: RSAPrivateKey) -> None:
    private: dict[str, Any] = jwt.algorithms.RSAAlgorithm.to_jwk(key, as_dict=True)
    short = written(rsa.generate_private_key(65537, 1024))  # noqa: S505 - is refused
    for wrong, told in (({**private, "kid": "k1"}, "a private one"), (short, "fewer than 2048")):
        with pytest.raises(FileError, match=told):
            signed_study(tmp_path, TOKEN, wrong)


FAULTS = {
    'algorithm = "RS256"': (
        'algorithm = "none"',
        "'none' is none of RS256, HMAC-SHA256, HMAC-SHA1",
    ),
    'keys = "keys.json"\n': ("", "RS256 is checked with keys; add that"),
    'issuer = "': ('secret = "PANEL_SECRET"\nissuer = "', "secret has no effect with RS256"),
    "prolific_token": ("STUDY_ID", "the signature is none of the parameters"),
    '"prolific_token"': ('"token"', "token is the server's own"),
    'claims = "prolific"': ('secret = "s3cret-itself"', "is no name of an environment variable"),
    "keys.json": ("nowhere.json", "nowhere.json"),
    '"RS256"': ('"HMAC-SHA256"', "HMAC-SHA256 is checked with secret; add that"),
}


@pytest.mark.parametrize("before", FAULTS)
def test_a_signature_that_cannot_be_checked_is_told_with_its_line(
    before: str, tmp_path: Path, key: RSAPrivateKey
) -> None:
    after, told = FAULTS[before]
    with pytest.raises(FileError) as raised:
        signed_study(tmp_path, TOKEN.replace(before, after), written(key))
    assert told in str(raised.value)
    assert all(fault.line is not None for fault in raised.value.faults)

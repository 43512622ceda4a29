"""Addresses that a panel signs: whoever has invented one is refused before a page is shown.

Two ways are in use. Prolific adds a JSON Web Token (RFC 7519) to the address, signed by RS256, with
the parameters in its claim `prolific` (docs.prolific.com, "Retrieve JSON Web Key Set"). Markets of
samples sign the address itself with a shared secret: its HMAC stands in the last parameter
(help.cint.com, "Generating API Entry Links"; cherries.readme.io, "Hashing"). The study file says
which, so that no address chooses how it is checked.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pxp_fsm.errors import PXPError, Refused, UsageError
from pxp_fsm.experiments.runs import log
from pxp_fsm.plugins.studies.files import AddressSignature, Study
from pxp_fsm.plugins.studies.keys import read_keys

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

LEEWAY = 60.0
"""Seconds by which the panel's clock and this one may differ."""

LONGEST = 4096
"""Characters of a token that is looked at."""

LEAST_SECRET = 12
"""Characters of a secret: a shorter one can be found by trying."""

Check = Callable[[str, Mapping[str, str], Mapping[str, str]], str]
"""Of an address, its parameters, and those that are to be signed: the mark of the signature.

Two addresses have the same mark only if the panel signed the same. Raises `Refused`.
"""


def signature_check(study: Study) -> Check:
    """How the addresses of the panel of `study` are checked; "" is the mark where it signs none.

    Raises `UsageError` where the keys or the secret are not there.
    """
    signature = study.payment.signature
    if signature is None:
        return lambda _address, _given, _known: ""
    if signature.is_token:
        return TokenCheck(signature, study.path.parent / signature.keys)
    return HashCheck(signature, os.environ.get(signature.secret, ""))


class TokenCheck:
    """The check of JSON Web Tokens with the public keys in the file `keys`.

    The file is read again once it has changed, so that new keys need no restart; keys stay as they
    are while it cannot be read.
    """

    def __init__(self, signature: AddressSignature, keys: Path) -> None:
        self._signature, self._path = signature, keys
        self._stamp = _stamp(keys)
        self._keys = read_keys(keys)

    def __call__(self, address: str, query: Mapping[str, str], known: Mapping[str, str]) -> str:
        token = query.get(self._signature.parameter, "")
        claims = self._claims(token)
        audiences = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
        if not any(_is_at(audience, address) for audience in audiences):
            raise _refused("it was signed for another address")
        name = self._signature.claims
        signed = claims.get(name) if name else claims
        if not isinstance(signed, Mapping) or any(
            signed.get(parameter) != value for parameter, value in known.items()
        ):
            raise _refused("it was signed for other parameters")
        return _mark(base64.urlsafe_b64decode(token.rpartition(".")[2] + "=="))

    def _claims(self, token: str) -> dict[str, Any]:
        """The claims of a token whose signature, issuer and times are right."""
        import jwt

        if not token or len(token) > LONGEST:
            raise _refused("there is none")
        try:
            kid = jwt.get_unverified_header(token).get("kid")
            key = self._current().get(kid) if isinstance(kid, str) else None
            if key is None:
                raise _refused("its key is not known here")
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=["RS256"],
                issuer=self._signature.issuer,
                leeway=LEEWAY,
                options={"require": ["exp", "iss", "aud"], "verify_aud": False},
            )
        except jwt.ExpiredSignatureError as error:
            raise _refused("it has expired") from error
        except jwt.ImmatureSignatureError as error:
            raise _refused("it is not valid yet") from error
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError) as error:
            raise _refused("it is not the panel's") from error
        return claims

    def _current(self) -> Mapping[str, RSAPublicKey]:
        stamp = _stamp(self._path)
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._keys = read_keys(self._path)
            except PXPError as error:
                log(f"the keys of the panel stay as they were: {error}")
        return self._keys


class HashCheck:
    """The check of addresses that end with their HMAC; `secret` is the panel's and ours."""

    def __init__(self, signature: AddressSignature, secret: str) -> None:
        if len(secret) < LEAST_SECRET:
            raise UsageError(
                f"the environment variable {signature.secret} has no secret of at least "
                f"{LEAST_SECRET} characters; set it to the one that the panel gave you"
            )
        self._secret = secret.encode("utf-8", "surrogateescape")
        self._algorithm = {"HMAC-SHA256": "sha256", "HMAC-SHA1": "sha1"}[signature.algorithm]
        self._pattern = re.compile(
            rf"(?P<signed>[^#]*&){re.escape(signature.parameter)}=(?P<written>[^&#]{{1,100}})"
        )

    def __call__(self, address: str, _given: Mapping[str, str], _known: Mapping[str, str]) -> str:
        match = self._pattern.fullmatch(address)
        if match is None:
            raise _refused("there is none at its end")
        written = _bytes_of(match["written"])
        for text in (match["signed"], match["signed"][:-1]):  # panels sign with or without the "&"
            digest = hmac.digest(self._secret, text.encode(), self._algorithm)
            if hmac.compare_digest(written, digest):
                return _mark(digest)
        raise _refused("it is not the panel's")


def _bytes_of(written: str) -> bytes:
    """A digest that is written in hexadecimal digits, or in base64 of either alphabet."""
    plain = written.replace("%3D", "=").replace("%2B", "+").replace("%2F", "/").rstrip("=")
    try:
        if re.fullmatch(r"([0-9a-fA-F]{40}|[0-9a-fA-F]{64})", plain):
            return bytes.fromhex(plain)
        text = plain.replace("+", "-").replace("/", "_")
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return b""


def _is_at(audience: object, address: str) -> bool:
    """Whether an audience, an address or a host, is where `address` is."""
    if not isinstance(audience, str):
        return False
    here = urlsplit(address)
    try:
        there = urlsplit(audience if "://" in audience else f"{here.scheme}://{audience}")
        return (there.scheme, there.netloc.lower()) == (here.scheme, here.netloc)
    except ValueError:
        return False


def _mark(signature: bytes) -> str:
    """It says nothing of who was sent: only who has the key could sign the same again."""
    return hashlib.sha256(signature).hexdigest()


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size, about.st_ino


def _refused(why: str) -> Refused:
    return Refused(
        f"the signature of this address is not right: {why}; come again from where you were sent"
    )

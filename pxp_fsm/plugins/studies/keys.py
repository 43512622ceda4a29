"""The public keys of a panel: a JSON Web Key Set (RFC 7517) in a file that was downloaded.

Only RSA keys for RS256 are taken from it. A key of another kind could let somebody choose the
algorithm: with a public key as the secret of an HMAC, everybody could sign.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pxp_fsm.documents import text_of
from pxp_fsm.errors import UsageError, quoted, require_extra

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

LEAST_BITS = 2048
"""Of an RSA key: NIST SP 800-131A allows no shorter one."""

MOST_BYTES = 100_000
"""Of a file with keys: a key has 500."""

_NEEDED = {"jwt": "PyJWT", "cryptography": "the library cryptography"}


def read_keys(path: Path) -> Mapping[str, RSAPublicKey]:
    """The keys in the file at `path` by their `kid`.

    Raises `UsageError`, saying what to do, where there is none that signs by RS256, one is private
    or too short, or the extra `sign` is not installed; `FileError` where it cannot be read.
    """
    require_extra("sign", "checking a panel's signature", _NEEDED)
    text = text_of(path, "a JSON Web Key Set", most=MOST_BYTES)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _no_set(path) from error
    listed = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list) or not all(isinstance(key, dict) for key in listed):
        raise _no_set(path)
    keys = dict(_signing(path, listed))
    if not keys:
        raise UsageError(
            f"{path}: there is no RSA key for RS256 with a kid; download the file anew"
        )
    return keys


def _signing(path: Path, listed: list[dict[str, Any]]) -> Iterator[tuple[str, RSAPublicKey]]:
    import jwt
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

    for written in listed:
        kid = written.get("kid")
        is_other = written.get("alg", "RS256") != "RS256" or written.get("use", "sig") != "sig"
        if written.get("kty") != "RSA" or is_other or not isinstance(kid, str):
            continue
        if "d" in written:
            raise UsageError(
                f"{path}: the key {quoted(kid)} is a private one, with which everybody who reads "
                f"this file could sign; keep the public one here"
            )
        try:
            key = jwt.PyJWK(written, "RS256").key
        except (jwt.PyJWTError, ValueError, TypeError, KeyError) as error:
            raise UsageError(
                f"{path}: the key {quoted(kid)} is none; download the file anew"
            ) from error
        if not isinstance(key, RSAPublicKey) or key.key_size < LEAST_BITS:
            raise UsageError(
                f"{path}: the key {quoted(kid)} has fewer than {LEAST_BITS} bits; ask the panel "
                f"for a longer one"
            )
        yield kid, key


def _no_set(path: Path) -> UsageError:
    return UsageError(f'{path} is no JSON Web Key Set ({{"keys": [...]}}); download the file anew')

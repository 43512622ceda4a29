"""A small server that speaks Anthropic's Messages over HTTP and counts as its documents say.

    python benchmarks/model_server.py PORT SECONDS [REPLY]

Each reply takes SECONDS, and says REPLY. A token is four characters. Where a request asks for
prompt caching, the last block of it is a breakpoint: the longest prefix that ended at one of the
last 20 blocks of an earlier request is read from the cache, the rest is written to it; nothing
shorter than 1024 tokens is cached, and what is cached is kept for as long as the server runs
(Anthropic: 5 minutes, renewed by each use).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from typing import Any

LEAST = 1024
BLOCKS = 20
REPLY = "Atelectasis is visible at the base of the left lung; the heart is of normal size. " * 4


class Counting:
    """Tokens of a request, by how they are billed."""

    def __init__(self) -> None:
        self._kept: set[str] = set()

    def usage(self, body: dict[str, Any]) -> dict[str, int]:
        blocks = [body.get("system", "")]
        for message in body["messages"]:
            blocks += [json.dumps([message["role"], block]) for block in message["content"]]
        ends, tokens, digest = [], 0, hashlib.sha256()
        for block in blocks:
            tokens += len(block) // 4
            digest.update(block.encode() + b"\x00")
            ends.append((digest.hexdigest(), tokens))
        read = written = 0
        if body.get("cache_control"):
            sizes = (size for key, size in reversed(ends[-BLOCKS:]) if key in self._kept)
            read = next(sizes, 0)
            key, size = ends[-1]
            if size >= LEAST:
                self._kept.add(key)
                written = size - read
        return {
            "input_tokens": tokens - read - written,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
            "output_tokens": len(REPLY) // 4,
        }


def message(usage: dict[str, int], reply: str) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "counted",
        "content": [{"type": "text", "text": reply}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }


async def main(port: int, seconds: float, reply: str = REPLY) -> None:
    counting = Counting()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode().lower().split("\r\n")
                lengths = (line[15:] for line in lines if line.startswith("content-length:"))
                length = int(next(lengths))
                body = json.loads(await reader.readexactly(length))
                await asyncio.sleep(seconds)
                encoded = json.dumps(message(counting.usage(body), reply)).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nrequest-id: r\r\n"
                    b"content-length: %d\r\n\r\n%s" % (len(encoded), encoded)
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", port)
    print("ready", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2]), *sys.argv[3:]))

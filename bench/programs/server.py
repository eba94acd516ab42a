# SPDX-License-Identifier: MIT
"""A web server under load: 8 clients in the same process ask it one after the other.

The argument is a factor for the number of requests.
"""
import asyncio

from common import profile, sized, timed

PAGE = b"".join(b"<li>%d</li>\n" % i for i in range(40))


@profile
def parsed(lines):
    method, path, _ = lines[0].split()
    headers = {}
    for line in lines[1:]:
        name, _, value = line.partition(b":")
        headers[name.strip().lower()] = value.strip()
    return method, path, headers


@profile
def page_for(path, headers):
    words = [b"<h1>", path, b"</h1>"]
    for name, value in headers.items():
        words.append(b"<dt>" + name + b"</dt><dd>" + value + b"</dd>")
    words.append(PAGE)
    return b"".join(words)


@profile
async def answer(reader, writer):
    lines = []
    while True:
        line = await reader.readline()
        if not line.strip():
            break
        lines.append(line)
    _, path, headers = parsed(lines)
    body = page_for(path, headers)
    writer.write(b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
    writer.write(body)
    await writer.drain()
    writer.close()


async def ask(port, count):
    for i in range(count):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /%d HTTP/1.0\r\nHost: here\r\nAccept: text/html\r\nAgent: bench\r\n\r\n" % i)
        await reader.read()
        writer.close()


async def serve(count):
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    await asyncio.gather(*(ask(port, count) for _ in range(8)))
    server.close()


def run(count):
    asyncio.run(serve(count))


timed(run, sized(150))

# SPDX-License-Identifier: MIT
"""Coroutines and tasks that take turns, are cancelled, time out and fail. `hits: N` as in threads.py."""
import asyncio


async def turns(n):
    for i in range(n):
        await asyncio.sleep(0)   # hits: 2500
    return n                # hits: 50


async def waits(event, log):
    try:
        await event.wait()
    except asyncio.CancelledError:
        log.append(0)       # hits: 40
        raise               # hits: 40
    log.append(1)           # hits: 40


async def counts(n):
    for i in range(n):
        yield i             # hits: 410
        await asyncio.sleep(0)   # hits: 400


async def fails():
    await asyncio.sleep(0)  # hits: 20
    raise ValueError("x")   # hits: 20


async def collects(n):
    total = 0               # hits: 20
    async for value in counts(n):
        total += value      # hits: 400
    return total            # hits: 20


async def leaves():
    async for value in counts(5):
        return value        # hits: 10


async def main():
    log = []
    print(sum(await asyncio.gather(*[turns(50) for i in range(50)])))
    event = asyncio.Event()
    tasks = [asyncio.ensure_future(waits(event, log)) for i in range(80)]
    await asyncio.sleep(0)
    for task in tasks[:40]:
        task.cancel()
    event.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    print(log.count(0), log.count(1))
    failed = await asyncio.gather(*[fails() for i in range(20)], return_exceptions=True)
    print({type(error).__name__ for error in failed})
    print(await asyncio.gather(*[collects(20) for i in range(20)]))
    for i in range(10):
        await leaves()


asyncio.run(main())

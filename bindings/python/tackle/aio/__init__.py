# SPDX-License-Identifier: MIT
"""The components for asyncio: the same classes, whose methods are awaited.

    import asyncio
    import tackle.aio

    async def main():
        async with tackle.aio.Client("redis://localhost") as client:
            async with client.lock("backup", wait=5) as lock:
                print("held, fence", lock.fence)
            async for job in client.queue("mails").consume():
                print(job.payload.json()["to"])
                await job.ack()

    asyncio.run(main())

The modules beside this one that are not in the source tree are made from those of the package
tackle, by tools/aio.py. docs/python.md says what is special.
"""
from .client import Client
from .redlock import Redlock
from .worker import Worker

__all__ = ["Client", "Redlock", "Worker"]

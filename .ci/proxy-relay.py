"""Passes on what comes over TCP, and writes it down: `proxy-relay.py HOST:PORT UP DOWN`, where UP is the file of what goes
there, and DOWN that of what comes back. Prints the port that it listens at."""

import asyncio
import sys

TO, UP, DOWN = sys.argv[1:]


async def pump(source, target, record):
    try:
        while data := await source.read(65536):
            record.write(data)
            target.write(data)
            await target.drain()
    except ConnectionError:
        pass
    finally:
        target.close()


async def main():
    host, port = TO.rsplit(":", 1)
    with open(UP, "ab", buffering=0) as up, open(DOWN, "ab", buffering=0) as down:

        async def relay(reader, writer):
            try:
                far_reader, far_writer = await asyncio.open_connection(host, int(port))
            except OSError:
                writer.close()
                return
            await asyncio.gather(pump(reader, far_writer, up), pump(far_reader, writer, down))

        server = await asyncio.start_server(relay, "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()


asyncio.run(main())

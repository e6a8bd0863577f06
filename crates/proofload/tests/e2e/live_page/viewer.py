"""Shows a page in Chromium and does one step after another: viewer.py URL STEPS

STEPS is a JSON list of {"width", "height", "scheme", "until"}: size and colours of the page, and a condition in JavaScript
that it waits for. Prints a JSON object: for each step the page's text, by how many pixels it is too wide, and how many of
its canvases are painted; and what the page wrote to its console. A step with "picture" is also kept as a file.
"""

import asyncio
import base64
import json
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

import websockets

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--remote-debugging-port=0"]
SEEN = """(() => {
  const painted = [...document.querySelectorAll('canvas')].filter((canvas) => {
    const { width, height } = canvas, copy = new OffscreenCanvas(width, height);
    const context = copy.getContext('2d', { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    const points = context.getImageData(0, 0, width, height).data;
    return points.some((value, at) => at % 4 === 3 && value > 0);
  }).length;
  const page = document.documentElement;
  return { text: document.body.innerText, too_wide: page.scrollWidth - page.clientWidth, painted };
})()"""


class Page:
    """A tab of a browser, over its debugging protocol."""

    def __init__(self, socket):
        self.socket, self.calls, self.console = socket, 0, []

    async def call(self, method, **params):
        self.calls += 1
        await self.socket.send(json.dumps({"id": self.calls, "method": method, "params": params}))
        while True:
            message = json.loads(await self.socket.recv())
            if message.get("id") == self.calls:
                return message["result"]
            if message["method"] in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
                self.console.append(json.dumps(message["params"]))

    async def value(self, expression):
        answer = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        return answer["result"].get("value")

    async def until(self, condition):
        # The page is looked at before each frame that the browser draws, and again when it becomes another page.
        poll = f"""new Promise((resolve) => {{
          const look = () => ({condition}) ? resolve(true) : requestAnimationFrame(look);
          look();
          setTimeout(() => resolve(false), 500);
        }})"""
        while not await self.value(poll):
            pass

    async def do(self, step):
        await self.call("Emulation.setDeviceMetricsOverride", width=step["width"], height=step["height"],
                        deviceScaleFactor=1, mobile=step["width"] < 600)
        scheme = {"name": "prefers-color-scheme", "value": step["scheme"]}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])
        await self.until(step["until"])
        # Charts follow the size of the page with the next frames.
        await self.value("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
        seen = await self.value(SEEN)
        if "picture" in step:
            picture = await self.call("Page.captureScreenshot", captureBeyondViewport=True)
            pathlib.Path(step["picture"]).write_bytes(base64.b64decode(picture["data"]))
        return seen


def debugging_port(browser):
    for line in browser.stderr:
        if "DevTools listening on" in line:
            return line.split("127.0.0.1:")[1].split("/")[0]
    sys.exit("chromium does not start")


async def main(url, steps):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = subprocess.Popen(["chromium", *FLAGS, f"--user-data-dir={profile}", "about:blank"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            tabs = json.load(urllib.request.urlopen(f"http://127.0.0.1:{debugging_port(browser)}/json"))
            address = next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
            async with websockets.connect(address, max_size=None) as socket:
                page = Page(socket)
                for domain in ("Runtime", "Log", "Page"):
                    await page.call(f"{domain}.enable")
                await page.call("Page.navigate", url=url)
                seen = [await page.do(step) for step in steps]
                print(json.dumps({"steps": seen, "console": page.console}))
        finally:
            browser.terminate()
            browser.wait()


asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))

// A visit to Django's admin in a headless browser, recorded as HAR: log in, add a group, log out.
//
// node record.js ADDRESS FILE
const fs = require("node:fs");
const { harFromMessages } = require("chrome-har");
const puppeteer = require("puppeteer-core");

/** Answers to which a person would look: their bodies go into the recording, as a browser's export has them. */
const withText = (response) => /html|json/.test(response.mimeType);

async function main(address, file) {
  const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
  try {
    const page = await browser.newPage();
    const session = await page.createCDPSession();
    const events = [];
    const bodies = [];
    for (const method of [
      "Page.loadEventFired", "Page.domContentEventFired", "Page.frameStartedLoading", "Page.frameAttached",
      "Page.frameScheduledNavigation", "Network.requestWillBeSent", "Network.requestWillBeSentExtraInfo",
      "Network.requestServedFromCache", "Network.dataReceived", "Network.responseReceived",
      "Network.responseReceivedExtraInfo", "Network.resourceChangedPriority", "Network.loadingFailed",
    ]) {
      session.on(method, (params) => events.push({ method, params }));
    }
    const types = new Map();
    session.on("Network.requestWillBeSent", ({ requestId, request, type }) => {
      types.set(request.url, type.toLowerCase());
      if (request.hasPostData && !request.postData) {
        const sent = session.send("Network.getRequestPostData", { requestId });
        bodies.push(sent.then(({ postData }) => { request.postData = postData; }, () => {}));
      }
    });
    session.on("Network.loadingFinished", (params) => {
      events.push({ method: "Network.loadingFinished", params });
      const { response } = events.find((one) => one.method === "Network.responseReceived"
        && one.params.requestId === params.requestId)?.params ?? {};
      if (response && withText(response)) {
        const body = session.send("Network.getResponseBody", { requestId: params.requestId });
        bodies.push(body.then((text) => { response.body = text.body; }, () => {}));
      }
    });
    await session.send("Page.enable");
    await session.send("Network.enable");
    const click = (selector) => Promise.all([page.waitForNavigation(), page.click(selector)]);
    await page.goto(`${address}/admin/login/?next=/admin/`);
    await page.type("#id_username", "ada");
    await page.type("#id_password", "engine");
    await click("[type=submit]");
    await page.goto(`${address}/admin/auth/group/add/`);
    await page.type("#id_name", `recorded ${process.pid}`);
    await click("[name=_save]");
    await click("#logout-form button");
    await Promise.all(bodies);
    const har = harFromMessages(events, { includeTextFromResponseBody: true });
    // As Chrome's own export has it.
    har.log.entries.forEach((entry) => { entry._resourceType = types.get(entry.request.url); });
    fs.writeFileSync(file, JSON.stringify(har));
  } finally {
    await browser.close();
  }
}

main(...process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});

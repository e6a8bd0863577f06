// Looks at a site that `make site` made: every page at two widths, every link and resource, and the search.
//
//   node packaging/website/check.mjs FOLDER     (needs chromium, and puppeteer-core in .node)
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { readFile, readdir } from 'node:fs/promises'
import { extname, join, relative, resolve } from 'node:path'

const root = resolve(process.argv[2] ?? 'site')
const require = createRequire(new URL('../../.node/package.json', import.meta.url))
const puppeteer = require('puppeteer-core')
const WIDTHS = [1280, 390]
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.png': 'image/png', '.json': 'application/json' }
const problems = []

const server = createServer(async (request, response) => {
  const path = decodeURIComponent(new URL(request.url, 'http://site').pathname)
  const file = join(root, path.endsWith('/') ? path + 'index.html' : path)
  const data = await readFile(file).catch(() => null)
  response.writeHead(data ? 200 : 404, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' })
  response.end(data ?? '')
})
await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
const origin = `http://127.0.0.1:${server.address().port}`

const files = (await readdir(root, { recursive: true })).filter((name) => name.endsWith('.html') && name !== '404.html')
const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] })
const linked = new Map()
try {
  for (const width of WIDTHS) {
    const page = await browser.newPage()
    await page.setViewport({ width, height: 900 })
    let where = ''
    page.on('pageerror', (error) => problems.push(`${where} at ${width}: ${error}`))
    page.on('response', (answer) => answer.status() >= 400 && problems.push(`${where}: ${answer.status()} ${answer.url()}`))
    for (const name of files) {
      where = name
      await page.goto(`${origin}/${name}`, { waitUntil: 'load' })
      const seen = await page.evaluate(() => ({
        width: document.documentElement.scrollWidth,
        links: [...document.querySelectorAll('a[href]')].map((link) => link.href),
        ids: [...document.querySelectorAll('[id]')].map((one) => one.id),
        heading: document.querySelector('h1')?.innerText ?? '',
      }))
      if (seen.width > width) problems.push(`${name} is ${seen.width} wide in a window of ${width}`)
      if (!seen.heading.trim()) problems.push(`${name} has no heading`)
      linked.set(new URL(name, origin + '/').pathname, seen)
    }
    await search(page, width)
    await page.close()
  }
} finally {
  await browser.close()
  server.close()
}

async function search(page, width) {
  await page.goto(`${origin}/overview.html`, { waitUntil: 'networkidle0' })
  await page.click('.VPNavBarSearch button')
  await page.waitForSelector('.VPLocalSearchBox input')
  await page.type('.VPLocalSearchBox input', 'coordinated omission')
  await page.waitForSelector('.VPLocalSearchBox .result')
  const first = await page.$eval('.VPLocalSearchBox .result', (result) => result.getAttribute('href'))
  if (!first.includes('coordinated-omission')) problems.push(`the search at ${width} finds ${first} first`)
}

for (const [name, { links }] of linked) {
  for (const link of new Set(links)) {
    const { origin: of, pathname, hash } = new URL(link)
    if (of !== origin) continue
    const path = pathname.endsWith('/') ? pathname + 'index.html' : pathname
    const target = linked.get(path)
    if (!target) problems.push(`${name} links to ${path}, which is not there`)
    else if (hash && !target.ids.includes(decodeURIComponent(hash.slice(1)))) problems.push(`${name} links to ${path}${hash}, which has no such place`)
  }
}
for (const problem of new Set(problems)) console.error(problem)
console.log(`${files.length} pages at ${WIDTHS.join(' and ')}, ${new Set(problems).size} problems`)
process.exit(problems.length ? 1 : 0)

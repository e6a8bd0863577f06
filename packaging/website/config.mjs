// The site's form. `packaging/site.py` stages the pages and writes `pages.json`: what the sidebar lists.
import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'

const sections = JSON.parse(readFileSync(new URL('./pages.json', import.meta.url)))
// Places in pages have the names that GitHub gives them, which is what links say.
const slugify = (heading) => heading.trim().toLowerCase().replace(/[^\p{L}\p{N}\-_ ]/gu, '').replaceAll(' ', '-')
const items = (pages) => pages.map(({ title, path }) => ({ text: title, link: '/' + path }))

export default defineConfig({
  title: 'Proofload',
  description: 'A load-testing laboratory whose numbers can be believed',
  // Works below any address, and loads nothing from elsewhere.
  base: process.env.SITE_BASE ?? '/',
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  cleanUrls: false,
  lastUpdated: false,
  markdown: { theme: { light: 'github-light', dark: 'github-dark' }, anchor: { slugify } },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'First run', link: '/docs/guide/first-run' },
      { text: 'Guide', link: '/overview#what-do-you-want-to-do' },
      { text: 'Studies', link: '/docs/studies/registry' },
      { text: 'Reports', link: '/reports' },
    ],
    sidebar: sections.map(({ title, pages }) => ({ text: title, collapsed: title !== 'Start', items: items(pages) })),
    docFooter: { prev: false, next: false },
  },
})

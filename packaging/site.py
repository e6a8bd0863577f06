#!/usr/bin/env python3
"""Makes the documentation a searchable site in `site/`: all pages that the README leads to, and reports of real runs."""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# VitePress finds its packages above the folder that it builds.
STAGE = ROOT / ".site/stage"
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
SECTIONS = {
    "Guide": "docs/guide/",
    "Concepts": "docs/concepts/",
    "Studies": "docs/studies/",
    "Reference": "docs/reference/",
    "Systems": ("systems/", "service-kit/", "foundation/", "experiments/"),
    "Project": "",
}
# Experiments that are run for the site, and what one can see in them.
EXAMPLES = {
    "demo": "A service of known behaviour at half its capacity: theory says p50 1.39 ms and p99 9.2 ms, and the network comes on top.",
    "stall": "A service that stands still for a while: the requests that were due meanwhile are counted.",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "site", help="the folder, made anew")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "target/release/proofload", help="what runs the examples")
    asked = parser.parse_args()
    pages, others = reachable()
    shutil.rmtree(STAGE, ignore_errors=True)
    for name, text in pages.items():
        write(STAGE / staged(name), rewritten(name, text, others).encode())
    for name in others:
        data = (ROOT / name).read_bytes()
        if is_image(name):
            write(STAGE / "public" / name, data)
        else:
            write(STAGE / f"{name}.md", shown(name, data.decode()).encode())
    reports(asked.program)
    website = ROOT / "packaging/website"
    write(STAGE / "index.md", f"---\n{(website / 'home.yml').read_text()}---\n".encode())
    write(STAGE / ".vitepress/config.mjs", (website / "config.mjs").read_bytes())
    write(STAGE / ".vitepress/pages.json", json.dumps(sidebar(pages)).encode())
    print(f"site: {len(pages)} pages, {len(others)} other files ...", file=sys.stderr)
    # A link to a page that is not there ends the build.
    built = subprocess.run([ROOT / ".site/node_modules/.bin/vitepress", "build", STAGE, "--outDir", asked.out.resolve()],
                           cwd=ROOT / ".site", stdout=sys.stderr)
    if built.returncode != 0:
        sys.exit("error: the site was not made: see above")


def reachable():
    """Pages by name with their text, and other files: all that the README leads to."""
    tracked = set(subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.split("\n"))
    pages, others, waiting = {}, set(), ["README.md"]
    while waiting:
        name = waiting.pop()
        if name in pages or name in others:
            continue
        if not name.endswith(".md"):
            others.add(name)
            continue
        pages[name] = (ROOT / name).read_text()
        targets = [target(name, found[1]) for found in LINK.findall(pages[name]) if is_ours(found[1])]
        targets += [target(name, found) for found in re.findall(r'(?:src|srcset)="([^"]+)"', pages[name])]
        for one in targets:
            found = [one] if one in tracked else [file for file in tracked if file.startswith(one + "/")]
            if not found:
                sys.exit(f"error: {name} links to {one}, which is not in the repository")
            waiting += found
    return pages, others


def is_image(name):
    return name.endswith((".png", ".svg"))


def shown(name, text):
    """A file that is no page, as a page."""
    language = {"rs": "rust", "py": "python", "yml": "yaml"}.get(name.rpartition(".")[2], name.rpartition(".")[2])
    return f"# {name}\n\n````{language if '.' in name else ''}\n{text.rstrip()}\n````\n"


def is_ours(link):
    return not re.match(r"[a-z]+:", link)


def target(page, link):
    """A link of this page as a name in the repository."""
    return os.path.normpath(os.path.join(os.path.dirname(page), link))


def staged(name):
    """Where a page lies: the README has the second place, behind the site's own first page."""
    if name == "README.md":
        return "overview.md"
    return re.sub(r"README\.md$", "index.md", name)


def rewritten(page, text, others):
    """The page with links to where things lie on the site."""

    def link(found):
        opening, to, anchor, closing = found[1], found[2], found[3] or "", found[4]
        if not is_ours(to):
            return found[0]
        name = target(page, to)
        if name.endswith(".md"):
            return f"{opening}/{staged(name)}{anchor}{closing}"
        # A folder has no page: the first of its files stands for it.
        name = name if name in others else min(one for one in others if one.startswith(name + "/"))
        return f"{opening}/{name}{'' if is_image(name) else '.md'}{closing}"

    text = LINK.sub(link, text)
    # Braces of our templates are not those of the site.
    text = f"::: v-pre\n{text}\n:::\n"
    return re.sub(r'((?:src|srcset)=")([^"]+)"', lambda found: f'{found[1]}/{target(page, found[2])}"', text)


def sidebar(pages):
    """Sections with the titles and addresses of their pages, in the order in which the README names them."""
    tasks = pages["README.md"].partition("## What do you want to do?")[2]
    order = [target("README.md", found[1]) for found in LINK.findall(tasks)]
    rank = lambda name: (order.index(name) if name in order else len(order), name)
    sections = [{"title": "Start", "pages": [{"title": "Overview", "path": "overview"},
                                             {"title": "Reports of real runs", "path": "reports"}]}]
    left = sorted((name for name in pages if name != "README.md"), key=rank)
    for title, prefix in SECTIONS.items():
        here = [name for name in left if name.startswith(prefix)]
        left = [name for name in left if name not in here]
        entries = [{"title": heading(pages[name]), "path": address(name)} for name in here]
        sections.append({"title": title, "pages": entries})
    return sections


def heading(text):
    return next(line for line in text.split("\n") if line.startswith("# ")).removeprefix("# ").replace("`", "")


def address(name):
    return re.sub(r"(index)?\.md$", "", staged(name))


def reports(program):
    """Runs the examples, and embeds their reports in a page."""
    text = "# Reports of real runs\n\nEach of these was measured when this site was made.\n"
    with tempfile.TemporaryDirectory() as folder:
        for name, about in EXAMPLES.items():
            print(f"site: running experiments/{name}.toml ...", file=sys.stderr)
            command = [program, "run", f"experiments/{name}.toml", "--quiet", "--out", f"{folder}/{name}"]
            code = subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL).returncode
            if code not in (0, 1, 3):
                sys.exit(f"error: experiments/{name}.toml ended with {code}")
            write(STAGE / f"public/reports/{name}.html", pathlib.Path(folder, name, "report.html").read_bytes())
            text += (f"\n## {name}\n\n{about}\n\n`proofload run experiments/{name}.toml` wrote "
                     f'<a href="reports/{name}.html" target="_blank">this report</a>:\n\n'
                     f'<iframe src="reports/{name}.html" title="Report of {name}" loading="lazy" '
                     'style="width: 100%; height: 40rem; border: 1px solid #8884"></iframe>\n')
    write(STAGE / "reports.md", text.encode())


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


if __name__ == "__main__":
    main()

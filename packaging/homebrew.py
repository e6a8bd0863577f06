"""A formula of Homebrew, for Linux, that installs the archives."""

import hashlib

CPUS = {"x86_64": "x86_64", "aarch64": "arm64"}

FORMULA = '''class Proofload < Formula
  desc "Runs load experiments and measures how much load a service sustains"
  homepage "{url}"
  url "{url}/{instrument}"
  sha256 "{instrument_sum}"
  version "{version}"
  license any_of: ["MIT", "Apache-2.0"]
  depends_on :linux
  depends_on arch: :{cpu}

  resource "systems" do
    url "{url}/{systems}"
    sha256 "{systems_sum}"
  end

  def install
    bin.install "bin/proofload"
    man1.install Dir["share/man/man1/*"]
    bash_completion.install "share/bash-completion/completions/proofload"
    zsh_completion.install "share/zsh/site-functions/_proofload"
    fish_completion.install "share/fish/vendor_completions.d/proofload.fish"
    doc.install Dir["share/doc/proofload/*"]
    resource("systems").stage do
      bin.install Dir["bin/*"]
      pkgshare.install Dir["share/proofload/*"]
    end
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/proofload --version")
    assert_match "truth", shell_output("#{{bin}}/proofload serve")
  end
end
'''


def formula(instrument, systems, release, url):
    """The formula: its file name and its bytes. Each archive is a file name and its bytes."""
    sum_of = lambda archive: hashlib.sha256(archive[1]).hexdigest()
    text = FORMULA.format(url=url, version=release.version, cpu=CPUS[release.architecture],
                          instrument=instrument[0], instrument_sum=sum_of(instrument), systems=systems[0],
                          systems_sum=sum_of(systems))
    return "proofload.rb", text.encode()

//! What `make dist` packs, installed and run: archives, Debian packages, the wheel and its reader, and the image.
//!
//! The programs are those of this build; two of them, and stand-ins for the others.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::lab::server::truth;
use crate::lab::{Lab, PROOFLOAD, Ran, repository};

/// All artefacts.
struct Made {
    lab: Lab,
}

impl Made {
    /// From two real programs.
    fn new() -> Self {
        let built = Path::new(PROOFLOAD).parent().expect("a folder");
        Self::with(|name, to| {
            run(Command::new("strip").arg("-o").arg(to).arg(built.join(name)));
        })
    }

    /// From stand-ins, and two programs that are made by this.
    fn with(mut program: impl FnMut(&str, &Path)) -> Self {
        let lab = Lab::new();
        fs::create_dir(lab.path("programs")).expect("a folder");
        for name in ["edge", "exchange", "mail", "registry", "search", "subscribers"] {
            script(&lab.path("programs").join(format!("proofload-{name}")), "#!/bin/sh\n");
        }
        for name in ["proofload", "proofload-truth"] {
            program(name, &lab.path("programs").join(name));
        }
        let made = Self { lab };
        made.pack("dist", "UTC");
        made
    }

    fn pack(&self, folder: &str, zone: &str) {
        let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
        let mut command = Command::new("python3");
        command.arg("-B").arg(repository("packaging/dist.py")).args(["--level", "1", "--target"]);
        command.arg(target).arg("--programs").arg(self.lab.path("programs"));
        run(command.arg("--out").arg(self.lab.path(folder)).env("TZ", zone));
    }

    /// The artefact whose name begins and ends like this.
    fn artefact(&self, begin: &str, end: &str) -> PathBuf {
        let fits = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.starts_with(begin) && name.ends_with(end)
        };
        let all = fs::read_dir(self.lab.path("dist")).expect("artefacts");
        all.map(|entry| entry.expect("an entry").path()).find(fits).expect("this artefact")
    }
}

fn script(path: &Path, text: &str) {
    fs::write(path, text).expect("a file");
    fs::set_permissions(path, PermissionsExt::from_mode(0o755)).expect("a mode");
}

/// Runs a command that must succeed.
#[track_caller]
fn run(command: &mut Command) -> String {
    let ran = Ran::from(command.output().expect("the command starts"));
    assert_eq!(ran.code, 0, "{command:?}: {}{}", ran.stdout, ran.stderr);
    ran.stdout
}

/// Runs a Python of the tests' own environment.
fn python() -> Command {
    Command::new(repository(".venv/bin/python"))
}

#[test]
fn two_times_packed_gives_the_same_bytes_and_the_checksums_hold() {
    let made = Made::with(|_, to| script(to, &format!("#!/bin/sh\nexec {PROOFLOAD} \"$@\"\n")));
    made.pack("again", "Asia/Tokyo");
    run(Command::new("diff").arg("-r").arg(made.lab.path("dist")).arg(made.lab.path("again")));
    let mut sums = Command::new("sha256sum");
    run(sums.args(["--check", "--strict", "SHA256SUMS"]).current_dir(made.lab.path("dist")));
}

#[test]
fn what_make_dist_packs_can_be_installed_and_runs() {
    let made = Made::new();
    archives_unpacked_into_one_prefix_run_and_have_all_their_documents(&made);
    debian_packages_unpack_with_what_debian_knows_of_them(&made);
    the_wheel_installs_the_program_and_a_reader_whose_figures_are_those_of_the_run(&made);
    the_reader_and_its_use_are_typed(&made);
    npm_installs_the_program(&made);
    the_formula_of_homebrew_has_the_sums_of_the_archives(&made);
    the_formula_of_homebrew_installs_what_the_archives_hold(&made);
    the_image_is_read_as_an_oci_archive_and_as_one_of_docker(&made);
    the_sbom_follows_its_schema_and_names_what_is_linked(&made);
}

/// The instrument and the systems in this folder run: a load against a system, and its report.
#[track_caller]
fn works(lab: &Lab, bin: &Path) {
    let listed = run(Command::new(bin.join("proofload")).arg("serve").env("PATH", "/nowhere"));
    assert!(listed.contains("truth"), "{listed}");
    let (_truth, url) = truth(&["mode=none"]);
    let mut load = Command::new(bin.join("proofload"));
    load.args(["run", &url, "--requests", "100", "--quiet", "--out"]).arg(lab.path("run"));
    // A busy machine may spoil the run.
    let ran = Ran::from(load.output().expect("it starts"));
    assert!([0, 3].contains(&ran.code), "{ran:?}");
    assert!(lab.read("run/report.html").contains("<html"));
}

fn archives_unpacked_into_one_prefix_run_and_have_all_their_documents(made: &Made) {
    let lab = Lab::new();
    for name in ["proofload-0", "proofload-systems-"] {
        let archive = made.artefact(name, ".tar.gz");
        let mut tar = Command::new("tar");
        run(tar.args(["--strip-components=1", "-xzf"]).arg(archive).current_dir(lab.path(".")));
    }
    works(&lab, &lab.path("bin"));
    assert!(lab.read("share/man/man1/proofload-run.1").contains("SYNOPSIS"));
    let completions = lab.path("share/bash-completion/completions/proofload");
    run(Command::new("bash").arg("-n").arg(completions));
    let licences = lab.read("share/doc/proofload/THIRD-PARTY-LICENCES");
    for one in ["tokio 1.", "musl\n", "aws-lc-sys ", "Permission is hereby granted"] {
        assert!(licences.contains(one), "{one}");
    }
    assert!(!licences.contains("proptest "), "what only tests need is in no program");
    assert!(lab.read("share/proofload/experiments/registry.toml").contains("[load]"));
}

fn debian_packages_unpack_with_what_debian_knows_of_them(made: &Made) {
    let lab = Lab::new();
    let instrument = made.artefact("proofload_", ".deb");
    let systems = made.artefact("proofload-systems_", ".deb");
    let field = |package: &Path, name: &str| {
        run(Command::new("dpkg-deb").arg("--field").arg(package).arg(name)).trim().to_owned()
    };
    assert_eq!(field(&instrument, "Package"), "proofload");
    let version = field(&instrument, "Version");
    assert_eq!(field(&systems, "Depends"), format!("proofload (= {version})"));
    for package in [&instrument, &systems] {
        run(Command::new("dpkg-deb").arg("--extract").arg(package).arg(lab.path(".")));
        let listed = run(Command::new("dpkg-deb").arg("--contents").arg(package));
        assert!(listed.lines().all(|line| line.contains(" root/root ")), "{listed}");
    }
    works(&lab, &lab.path("usr/bin"));
    run(Command::new("gzip").arg("--test").arg(lab.path("usr/share/man/man1/proofload.1.gz")));
    let unit = lab.read("usr/lib/systemd/system/proofload@.service");
    assert!(unit.contains("ExecStart=/usr/bin/proofload serve %i --listen ${LISTEN}"), "{unit}");
    assert!(unit.contains("LISTEN=127.0.0.1:"), "on loopback unless told");
}

fn the_wheel_installs_the_program_and_a_reader_whose_figures_are_those_of_the_run(made: &Made) {
    let lab = Lab::new();
    let environment = lab.path("environment");
    run(python().args(["-m", "venv", "--without-pip"]).arg(&environment));
    let own = environment.join("bin/python");
    let mut install = python();
    install.args(["-m", "pip", "--python"]).arg(&own);
    install.args(["install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check"]);
    run(install.arg(made.artefact("proofload-", ".whl")));
    let version = run(Command::new(environment.join("bin/proofload")).arg("--version"));
    assert_eq!(version.trim(), concat!("proofload ", env!("CARGO_PKG_VERSION")));

    let (_truth, url) = truth(&["mode=constant"]);
    let file = format!(
        "[target]\nurl = \"{url}\"\n[load]\nrate = \"200/s\"\nduration = \"3s\"\nwarm_up = \"0s\"\n\
         [[operation]]\nname = \"one\"\nhttp = {{ path = \"/\" }}\n\
         [[operation]]\nname = \"other\"\nhttp = {{ path = \"/other\" }}\n"
    );
    lab.write("two.toml", &file);
    lab.run(&["two.toml"]);
    let reader = environment.join("lib");
    let mut compare = python();
    compare.arg(repository("crates/proofload/tests/programs/read_runs.py"));
    run(compare
        .arg(reader)
        .arg(lab.path("run"))
        .arg(repository("crates/proofload/tests/e2e/earlier/0.1.0")));
}

fn the_reader_and_its_use_are_typed(made: &Made) {
    let cache = made.lab.path("types");
    let mut check = python();
    check.args(["-m", "mypy", "--strict", "--no-error-summary", "--cache-dir"]).arg(cache);
    run(check.arg(repository("packaging/python/proofload")));
}

fn npm_installs_the_program(made: &Made) {
    let lab = Lab::new();
    let mut install = Command::new("npm");
    install.args(["install", "--silent", "--offline", "--no-audit", "--no-fund", "--prefix"]);
    install.arg(lab.path(".")).env("HOME", lab.path("home"));
    run(install.arg(made.artefact("proofload-", "-npm.tgz")));
    let version = run(Command::new(lab.path("node_modules/.bin/proofload")).arg("--version"));
    assert_eq!(version.trim(), concat!("proofload ", env!("CARGO_PKG_VERSION")));
}

fn the_formula_of_homebrew_has_the_sums_of_the_archives(made: &Made) {
    let formula = fs::read_to_string(made.artefact("proofload", ".rb")).expect("a file");
    let sums = fs::read_to_string(made.artefact("SHA256SUMS", "")).expect("a file");
    let archives = sums.lines().filter_map(|line| line.split_once("  "));
    let archives: Vec<_> = archives.filter(|(_, name)| name.ends_with(".tar.gz")).collect();
    assert_eq!(archives.len(), 2);
    for (sum, name) in archives {
        assert!(
            formula.contains(&format!("/{name}\"\n")) && formula.contains(sum),
            "{name}: {formula}"
        );
    }
}

fn the_formula_of_homebrew_installs_what_the_archives_hold(made: &Made) {
    let formula = fs::read_to_string(made.artefact("proofload", ".rb")).expect("a file");
    let (first, second) = formula.split_once("resource(\"systems\").stage").expect("two archives");
    let mut seen = 0;
    for (steps, name) in [(first, "proofload-0"), (second, "proofload-systems-")] {
        let archive = made.artefact(name, ".tar.gz");
        let held = run(Command::new("tar").arg("-tzf").arg(archive));
        for step in steps.lines().filter(|line| line.contains(".install ")) {
            let what = step.split('"').nth(1).expect("what is installed").trim_end_matches('*');
            // Homebrew enters the only folder of an archive.
            let is_there = |path: &str| {
                path.split_once('/').is_some_and(|(_, inside)| inside.starts_with(what))
            };
            assert!(held.lines().any(is_there), "{step}: {held}");
            seen += 1;
        }
    }
    assert_eq!(seen, formula.matches("install ").count(), "{formula}");
}

#[test]
fn a_release_sets_the_version_everywhere_and_dates_the_changelog() {
    let lab = Lab::new();
    for name in ["Cargo.toml", "Cargo.lock", "CHANGELOG.md"] {
        fs::copy(repository(name), lab.path(name)).expect("a copy");
    }
    let release = |version: &str| {
        let mut command = Command::new("python3");
        command.arg("-B").arg(repository("packaging/release.py"));
        command.args([version, "--date", "2030-01-02", "--root"]).arg(lab.path("."));
        Ran::from(command.output().expect("python3"))
    };
    let before = lab.read("Cargo.lock");
    assert_eq!(release("9.0.0").code, 0);
    assert!(lab.read("Cargo.toml").contains("\nversion = \"9.0.0\"\n"));
    let own = format!("name = \"proofload\"\nversion = \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(before.contains(&own) && !lab.read("Cargo.lock").contains(&own));
    let foreign = |lock: &str| lock.matches("\nsource = ").count();
    assert_eq!(foreign(&lab.read("Cargo.lock")), foreign(&before));
    assert!(lab.read("CHANGELOG.md").contains("## Unreleased\n\n## 9.0.0 (2030-01-02)\n"));
    for (version, why) in [
        ("9.0.0", "was released"),
        ("8.9.9", "is not above 9.0.0"),
        ("nine", "is no version"),
        ("9.0.1", "nothing under *Unreleased*"),
    ] {
        let refused = release(version);
        assert!(refused.code == 1 && refused.stderr.contains(why), "{version}: {refused:?}");
    }
}

/// Cargo's packages name the target in words that zig does not know.
#[test]
fn c_for_another_machine_is_compiled_by_zig_with_words_that_it_knows() {
    let lab = Lab::new();
    script(&lab.path("zig"), "#!/bin/sh\nprintf '%s\\n' \"$@\"\n");
    let program = r#"
import pathlib, subprocess, sys
sys.path.insert(0, sys.argv[1])
import dist
dist.ZIG = pathlib.Path(sys.argv[2])
tools = dist.compiler("s390x-unknown-linux-musl", "s390x_unknown_linux_musl")
for tool in sorted(tools):
    print(tool, flush=True)
    subprocess.run([tools[tool], "--target=s390x-unknown-linux-musl", "-c", "a b.c", ""], check=True)
"#;
    let mut command = Command::new("python3");
    command.args(["-B", "-c", program]).arg(repository("packaging")).arg(lab.path("zig"));
    command.env_remove("CC_s390x_unknown_linux_musl");
    let expected = "\
        AR_s390x_unknown_linux_musl\n-m\nziglang\nar\n-c\na b.c\n\n\
        CC_s390x_unknown_linux_musl\n-m\nziglang\ncc\n-target\ns390x-linux-musl\n\
        -fno-sanitize=all\n-c\na b.c\n\n";
    assert_eq!(run(&mut command), expected);
}

fn the_image_is_read_as_an_oci_archive_and_as_one_of_docker(made: &Made) {
    let lab = Lab::new();
    let image = made.artefact("proofload-", "-image.tar");
    for form in ["oci-archive", "docker-archive"] {
        let name = format!("{form}:{}", image.display());
        let about = run(Command::new("skopeo").args(["inspect", "--config"]).arg(&name));
        let about: serde_json::Value = serde_json::from_str(&about).expect("JSON");
        assert_eq!(about["config"]["Entrypoint"][0], "/proofload");
        assert_eq!(about["config"]["User"], "65532:65532");
        // Copying compares each digest.
        let to = format!("dir:{}", lab.path(form).display());
        run(Command::new("skopeo").args(["--insecure-policy", "copy", "--quiet", &name, &to]));
    }
    let layers = fs::read_dir(lab.path("docker-archive")).expect("a folder");
    let sizes =
        layers.map(|entry| entry.and_then(|entry| entry.metadata()).map_or(0, |of| of.len()));
    assert!(sizes.max() > Some(1 << 20), "a layer with the program");
}

fn the_sbom_follows_its_schema_and_names_what_is_linked(made: &Made) {
    let sbom = made.artefact("proofload-", "-sbom.cdx.json");
    let mut check = python();
    check.args(["-c", VALIDATE]).arg(&sbom);
    run(&mut check);
    let sbom: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(sbom).expect("a file")).expect("JSON");
    let names: Vec<&str> = sbom["components"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["name"].as_str())
        .collect();
    for linked in ["tokio", "rustls", "aws-lc-sys", "rust-std"] {
        assert!(names.contains(&linked), "{linked}");
    }
    for other in ["proptest", "serde_derive", "loom", "cc"] {
        assert!(!names.contains(&other), "{other} is in no program");
    }
}

const VALIDATE: &str = "
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
found = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read())
sys.exit(str(found) if found else 0)
";

# What the commands of a page find: a network of their own, in which each port is free, the programs under test, and
# servers that keep a terminal to themselves, as a reader would let them. `source` it, then the commands.
#
# ROOT is the repository, PROGRAMS the folder of the programs, and the current folder is empty.
set -euo pipefail
export PATH="$PROGRAMS:$PATH:/usr/sbin:/sbin"
ip link set lo up

# Logs and processes of servers.
readonly terminals=$PWD/.terminals
mkdir "$terminals"

# The folders that pages name, since they speak from the repository.
for folder in crates experiments foundation systems; do ln -s "$ROOT/$folder" "$folder"; done

# Where the next commands stand; the last one is what a failure is about.
at() { echo "== $1" >&2; }

# serving NAME READY COMMAND ...: ends what serves under this name, starts the command in a terminal of its own, and
# returns when that has said that it is ready.
serving() {
    local name=$terminals/${1//\//_} ready=$2
    shift 2
    if [[ -e $name.pid ]]; then
        kill "$(<"$name.pid")" 2>/dev/null && tail --pid="$(<"$name.pid")" --follow /dev/null
    fi
    : >"$name.log"
    "$@" >"$name.log" 2>&1 </dev/null &
    echo $! >"$name.pid"
    grep --quiet --extended-regexp "$ready" < <(tail --follow --lines=+1 --pid=$! --quiet "$name.log") || {
        cat "$name.log" >&2
        return 1
    }
    cat "$name.log"
}

# The value of the flag --listen among these words.
listen() { grep --only-matching --perl-regexp -- '--listen \K\S+' <<<"$*" || echo "${*:2:1}"; }

# What a run finds is not the question here: passed, missed or undecided.
decided() {
    local code=0
    "$@" || code=$?
    [[ $code == [013] ]]
}

# The same, and it must leave a report.
reported() {
    decided "$@" >"$terminals/report" || return
    cat "$terminals/report"
    [[ " $* " == *" --json - "* ]] || [[ -s $(sed -n 's/^report  //p' "$terminals/report") ]]
}

# The words, and these flags with their values unless they are among them.
with() {
    local words=$1 flags=()
    shift
    while (($#)); do
        [[ " $words " == *" $1 "* ]] || flags+=("$1" "$2")
        shift 2
    done
    echo "${flags[@]}"
}

proofload() {
    case "$1 ${2-}" in
        "serve "[a-z]*) serving "$(listen "$@")" '^\{' env proofload "$@" ;;
        "agent "*) serving "agent $BASHPID" 'waiting' env proofload "$@" ;;
        # Each of them is run by a test of its own.
        "run experiments/"*) command proofload check "${@:2}" ;;
        "run --resume") reported command proofload "$@" ;;
        "run "*)
            local flags=()
            [[ " $* " == *" --quick "* ]] || flags+=(--quick)
            [[ " $* " == *" --quiet "* ]] || flags+=(--quiet)
            reported command proofload "$@" "${flags[@]}"
            ;;
        "capacity "*)
            # shellcheck disable=SC2046
            decided command proofload "$@" --quiet --from 300/s --max 400/s --warm-up 0s \
                $(with "$*" --trial 1s --longest 1s --narrow 1 --confirm 0)
            ;;
        "compare "*) decided command proofload "$@" ;;
        # A page may show several imports to one file, which would be refused.
        "import "*)
            [[ $* != *" --out "* ]] || rm -f "$(basename "${*: -1}" .toml)".{toml,requests.txt,offsets.csv}
            command proofload "$@"
            ;;
        *) command proofload "$@" ;;
    esac
}

# Agents and other work in the background end with the page.
wait() { :; }
exit() { return "${1-0}"; }

nats-server() { serving nats 'Server is ready' env nats-server "$@"; }
redis-server() { serving redis 'Ready to accept connections' env redis-server "$@"; }
prometheus() { serving prometheus 'Server is ready' env prometheus --config.file=/dev/null --storage.tsdb.path=metrics "$@"; }

# A stream stays open.
curl() {
    if [[ " $* " == *" -sN "* ]]; then serving stream '^:' env curl "$@"; else command curl --fail-with-body "$@"; fi
}

# What would build for minutes: only whether there is what it would build or run.
make() { for task; do command make --directory "$ROOT" --dry-run "$task" >/dev/null; done; }
cargo() {
    local given='' folder='*/*'
    for word; do
        case $given in
            --path) [[ -e $ROOT/$word/src/main.rs ]] ;;
            -p) compgen -G "$ROOT/*/$word/Cargo.toml" >/dev/null && folder="*/$word" ;;
            --example) compgen -G "$ROOT/$folder/examples/$word*" >/dev/null ;;
            --test) compgen -G "$ROOT/$folder/tests/$word*" >/dev/null ;;
        esac || { echo "there is no $word" >&2; return 1; }
        given=$word
    done
}

# Other load tools are not here; this is what they print.
readonly samples=$ROOT/crates/audit/src/imports/samples
wrk() { cat "$samples/wrk.txt"; }
oha() { cat "$samples/oha.json"; }

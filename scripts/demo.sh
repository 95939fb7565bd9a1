#!/bin/sh
# Sandgate in a few seconds: reads, writes, refusals, the cell from outside, the records. Every sentence it
# prints is checked; the exit status is 1 when one does not hold. SANDGATE names the program (build/sandgate).
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
SANDGATE=${SANDGATE:-$top/build/sandgate}
case $SANDGATE in /*) ;; *) SANDGATE=$PWD/$SANDGATE ;; esac
[ -x "$SANDGATE" ] || { echo "demo: there is no $SANDGATE; run make build first" >&2; exit 2; }
command -v timeout >/dev/null || { echo "demo: needs timeout (coreutils)" >&2; exit 2; }

work=$(mktemp -d)
gate=
finish() {
    [ -z "$gate" ] || kill "$gate" 2>/dev/null || :
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM
trap 'exit 1' HUP PIPE

# Nothing of the caller's own settings, and a state folder that holds these calls and no others.
unset SANDGATE_CONFIG TOOL_RUNTIME TOOL_TIMEOUT_SECS TOOL_MEMORY_MB TOOL_ALLOW_DIRECT_NETWORK WORKSPACE_FS_MODE \
    MODEL_PROVIDER MODEL_BASE_URL
export HOME="$work/home" XDG_STATE_HOME="$work/home/state" XDG_CONFIG_HOME="$work/home/config"
# Nobody is asked about calls that change something, but in the part about that.
export SANDGATE_APPROVAL_DEFAULT=approve
umask 022
chmod 755 "$work"
cd "$work"
mkdir home project pkg runs outside
printf 'Buy milk.\n' >project/notes.txt
printf 'Be kind to the files.\n' >pkg/rules.txt
ln -s /etc/passwd project/innocent.txt
ln -s ../outside project/way-out
# A root gate works as the owner of the folder; this way it is someone, on file systems of any kind.
[ "$(id -u)" != 0 ] || chown -hR 65534:65534 project pkg runs outside 2>/dev/null || :

calls=0
failed=0
answer=
status=0

part=0
bold='\n\033[1m%s. %s\033[0m\n'
[ -t 1 ] || bold='\n== %s. %s\n'
heading() {
    part=$((part + 1))
    # shellcheck disable=SC2059 # the format is one of the two above
    printf "$bold" "$part" "$1"
}

claim() { # text, then a command that must succeed
    text=$1
    shift
    if "$@"; then
        printf '  ok: %s\n' "$text"
    else
        printf '  NOT SO: %s\n' "$text"
        failed=1
    fi
}

has() { case $answer in *"$1"*) ;; *) return 1 ;; esac; }
lacks() { ! has "$1"; }
ended() { [ "$status" = "$1" ]; }
holds() { [ "$(cat "$1")" = "$2" ]; }
is_empty() { [ -z "$(ls -A "$1")" ]; }
is() { [ "$1" = "$2" ]; }
in_file() { grep -qF -- "$2" "$1"; }
not_in_file() { ! in_file "$1" "$2"; }

quoted() {
    for word; do
        case $word in
        *[!A-Za-z0-9_./@-]*) printf " '%s'" "$word" ;;
        *) printf ' %s' "$word" ;;
        esac
    done
}

show() { printf '%s\n' "$1" | fold -w 112 | sed 's/^/    /'; }

call() { # the words behind `sandgate call`
    printf '  $ sandgate call%s\n' "$(quoted "$@")"
    status=0
    answer=$(timeout 20 "$SANDGATE" call "$@") || status=$?
    calls=$((calls + 1))
    show "$answer"
}

field() { printf '%s\n' "$answer" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }

heading 'A file is read in the sandbox'
call read_file '{"path":"notes.txt"}' --workspace project
if has SANDBOX_UNAVAILABLE; then
    echo 'demo: this machine does not allow the sandbox, so nothing runs; the message above says why' >&2
    exit 1
fi
read_sha=$(field sha256)
tier=$(field tier)
full() { [ "$tier" = full ]; }
full || cat <<'END'

  This machine allows no full sandbox. The tier "landlock" has file tools and searches, in a locked worker without
  namespaces; what needs commands is left out below. `sandgate doctor` tells why, and what would change it.
END
claim 'the content came back' has '"content":"Buy milk.\n"'
claim 'with the SHA-256 of the file' is "$read_sha" "$(sha256sum <project/notes.txt | cut -d' ' -f1)"

heading 'A write that says which version it replaces'
call write_file "{\"path\":\"notes.txt\",\"content\":\"Milk is bought.\\n\",\"if_match_sha256\":\"$read_sha\"}" \
    --workspace project
claim 'the file holds the new text' holds project/notes.txt 'Milk is bought.'

heading 'The same write again: the file has changed since that read'
call write_file "{\"path\":\"notes.txt\",\"content\":\"Too late.\\n\",\"if_match_sha256\":\"$read_sha\"}" \
    --workspace project
claim 'it is refused, exit status 1' ended 1
claim 'with the code PRECONDITION_FAILED' has '"code":"PRECONDITION_FAILED"'
claim 'the file is as it was' holds project/notes.txt 'Milk is bought.'

heading 'An edit, and its difference'
call edit_file '{"path":"notes.txt","edits":[{"old_text":"Milk is bought.","new_text":"Milk and bread are bought."}]}' \
    --workspace project
claim 'the answer is a unified diff' has '-Milk is bought.\n+Milk and bread are bought.\n'
claim 'the file holds the new text' holds project/notes.txt 'Milk and bread are bought.'

heading 'Ways out of the workspace'
call read_file '{"path":"../../etc/passwd"}' --workspace project
claim 'a path that climbs out is refused' has '"code":"PATH_OUTSIDE_WORKSPACE"'
printf '\n  project/innocent.txt is a link to %s.\n' "$(readlink project/innocent.txt)"
call read_file '{"path":"innocent.txt"}' --workspace project
claim 'a link that leads out is refused' has '"code":"SYMLINK_OUTSIDE_WORKSPACE"'
claim 'nothing of /etc/passwd is in the answer' lacks 'root:'
printf '\n  project/way-out is a link to %s.\n' "$(readlink project/way-out)"
call write_file '{"path":"way-out/planted","content":"x"}' --workspace project
claim 'writing through it is refused' has '"code":"SYMLINK_OUTSIDE_WORKSPACE"'
claim 'the folder outside is empty' is_empty outside

show_commands() {
    heading 'Commands, in a sandbox of their own'
    mkdir -p project/.git/hooks
    printf 'ref: refs/heads/main\n' >project/.git/HEAD
    printf 'SECRET=1\n' >project/.env
    [ "$(id -u)" != 0 ] || chown -R 65534:65534 project/.git project/.env 2>/dev/null || :
    call run_command '{"command":"wc -l < notes.txt; cat .env; echo x > .git/hooks/pre-commit; unshare -r true; ls /var/log"}' \
        --workspace project
    claim 'it works on the project' has '"stdout":"1\n"'
    claim 'a key is covered' has '.env: Permission denied'
    claim 'a hook cannot be planted' is_empty project/.git/hooks
    claim 'the rest of the machine is not there' has "'/var/log': No such file or directory"
    claim 'the system call that was refused is named' has '{"call":"unshare","count":1}'
    call run_command '{"command":"(setsid sleep 300 &) ; sleep 300","timeout_ms":300}' --workspace project
    claim 'out of time, everything it started is ended' has '"ended_by":"timeout"'
    call run_command '{"command":"ls; sudo reboot"}' --dialect sidecar --workspace project
    claim 'sidecar wants one command a call' has '"code":"COMMAND_BLOCKED"'
    call shell '{"command":"sort -r notes.txt | head -1; exit 3"}' --dialect runner --workspace project
    claim 'runner tells the exit code' has '[exit code: 3]'
    rm -r project/.git project/.env
}
show_no_commands() {
    heading 'Commands: not here'
    call run_command '{"command":"cat notes.txt"}' --workspace project
    claim 'one is refused, and the answer says why' has '"code":"SANDBOX_UNAVAILABLE"'
    claim 'nothing ran, and no sandbox is claimed' has '"tier":"none"'
}
if full; then show_commands; else show_no_commands; fi

heading "The workspace's own settings can only tighten"
printf '{"policy":{"enabled":{"write_file":false}},"cell":{"uid":1}}\n' >project/sandgate.json
printf '  project/sandgate.json: %s\n' "$(cat project/sandgate.json)"
call write_file '{"path":"new.txt","content":"x"}' --workspace project 2>warnings
sed 's/^/    /' warnings
claim 'write_file is switched off, exit status 3' ended 3
claim 'the field that is not for a workspace to set was left out' in_file warnings 'cell.uid is left out'
rm project/sandgate.json

heading 'A person is asked'
ask() { env -u SANDGATE_APPROVAL_DEFAULT timeout 20 "$SANDGATE" "$@"; }
printf "  \$ sandgate call write_file '{\"path\":\"notes.txt\",\"content\":\"Bread is bought.\\\\n\"}' --workspace project &\n"
ask call write_file '{"path":"notes.txt","content":"Bread is bought.\n"}' --workspace project >later 2>/dev/null &
gate=$!
calls=$((calls + 1))
request=
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    request=$(ask approvals --json | sed -n 's/.*"id":"\([a-z0-9]*\)".*/\1/p' | head -n 1)
    [ -z "$request" ] || break
    sleep 0.1
done
printf '  $ sandgate approvals %s\n' "$request"
answer=$(ask approvals "$request")
show "$answer"
claim 'the call waits, with the difference it would make' has '+Bread is bought.'
claim 'nothing was written meanwhile' holds project/notes.txt 'Milk and bread are bought.'
printf '  $ sandgate approve %s\n' "$request"
ask approve "$request" | sed 's/^/    /'
wait "$gate" || failed=1
gate=
claim 'approved, it runs' holds project/notes.txt 'Bread is bought.'
status=0
ask approve "$request" >/dev/null 2>&1 || status=$?
claim 'and the same yes is good for nothing else' ended 1
printf '{"approval":{"rules":[{"toolName":"run_command","action":"deny","condition":{"command":{"program":"git push"}}},
  {"toolName":"run_command","action":"budget","budgetLimit":1}]}}\n' >rules.json
printf '  rules.json: %s\n' "$(cat rules.json)"
call run_command '{"command":"true && git push"}' --workspace project --config rules.json
claim 'a rule names what it denies' has 'approval.rules[0]'
call run_command '{"command":"echo once"}' --workspace project --config rules.json
if full; then
    call run_command '{"command":"echo twice"}' --workspace project --config rules.json
    claim 'a budget of one call is one call' has '"code":"BUDGET_EXCEEDED"'
fi
printf '  $ sandgate policy explain run_command %s --config rules.json\n' "'{\"command\":\"git push\"}'"
answer=$(ask policy explain run_command '{"command":"git push"}' --config rules.json --workspace project)
show "$answer"
claim 'why, without running it' has 'verdict: deny'
printf 'Milk and bread are bought.\n' >project/notes.txt

show_review() {
    heading 'A command whose changes wait until somebody has looked'
    printf "  \$ sandgate run --review --workspace project -- sh -c 'echo Buy tea. >list.txt'\n"
    timeout 20 "$SANDGATE" run --review --workspace project -- sh -c 'echo Buy tea. >list.txt' 2>reviewed </dev/null || :
    calls=$((calls + 1))
    sed 's/^/    /' reviewed
    session=$(sed -n 's/.*session \([a-z0-9]*\) keeps 1 change.*/\1/p' reviewed)
    if [ -z "$session" ]; then
        printf '\n  No session can keep changes here, for the cause above; the rest of this part is left out.\n'
        return
    fi
    claim 'the project is as it was' is "$(ls project/list.txt 2>/dev/null)" ''
    printf '  $ sandgate session diff %s\n' "$session"
    answer=$(timeout 20 "$SANDGATE" session diff "$session" </dev/null) || :
    show "$answer"
    claim 'the change is shown as a patch' has '+Buy tea.'
    printf '  $ sandgate session commit %s\n' "$session"
    answer=$(timeout 20 "$SANDGATE" session commit "$session" </dev/null 2>&1) || :
    show "$answer"
    claim 'now it is in the project' holds project/list.txt 'Buy tea.'
    timeout 20 "$SANDGATE" session discard "$session" </dev/null || :
    rm -f project/list.txt
}
if full; then show_review; fi

heading 'The same tool as an OpenAI function call, over stdin and stdout'
line='{"id":"call_1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"notes.txt\"}"}}'
printf "  \$ printf '%%s\\\\n' '%s' |\n        sandgate stdio --format openai --workspace project\n" "$line"
answer=$(printf '%s\n' "$line" | timeout 20 "$SANDGATE" stdio --format openai --workspace project)
calls=$((calls + 1))
show "$answer"
claim 'the answer is a tool message for that call' has '{"role":"tool","tool_call_id":"call_1","content":"{'

heading 'Another dialect: the mounts and words of toolhost'
toolhost='--dialect toolhost --project project --pkg pkg --state runs --run r1 --agent demo'
# shellcheck disable=SC2086 # options are words
{
    call fs.read '{"path":"@project/notes.txt"}' $toolhost
    claim 'the same file, in the shape of this dialect' has '{"ok":true,"path":"@project/notes.txt","content":"Milk'
    call fs.write '{"path":"@state/plan.md","content":"Rest.\n"}' $toolhost
    claim "the run's state was written" holds runs/r1/plan.md 'Rest.'
    call fs.write '{"path":"@pkg/rules.txt","content":"Anything goes."}' $toolhost
    claim '@pkg is read-only' has '"code":"E_SANDBOX_VIOLATION"'
    claim 'and unchanged' holds pkg/rules.txt 'Be kind to the files.'
}
log=runs/r1/logs/execution.jsonl
printf '\n  %s:\n' "$log"
fold -w 112 "$log" | sed 's/^/    /'
claim 'one line for each of these three calls' is "$(grep -c '"kind":"tool.exec"' "$log")" 3
claim 'with sizes and hashes, without contents' not_in_file "$log" 'Rest.'

heading 'The same folder in the three other dialects'
call read_file '{"path":"notes.txt"}' --dialect sidecar --workspace project
claim 'sidecar numbers the lines' has '"output":{"content":"1\tMilk and bread'
call filesystem '{"operation":"stat","path":"notes.txt"}' --dialect system --workspace project
claim 'system has one tool with operations' has '{"success":true,"type":"file"'
call list_files '{"path":"*.txt"}' --dialect runner --workspace project
claim 'runner answers in plain text' is "$answer" 'innocent.txt
notes.txt'
call read_file '{"path":"../outside"}' --dialect runner --workspace project
claim 'its refusals too' is "$answer" 'Error: path traversal not allowed'

heading 'What the process that touches files is'
mkfifo requests answers
timeout 60 "$SANDGATE" stdio --workspace project <requests >answers &
gate=$!
exec 3>requests 4<answers
printf '{"id":"1","tool_call":{"name":"stat","arguments":{"path":"notes.txt"}}}\n' >&3
read -r answer <&4 || :
calls=$((calls + 1))
claim 'a gate is running and has answered a call' has '"type":"file"'

child_of() { # the first process whose parent is $1
    for entry in /proc/[0-9]*/status; do
        if grep -q "^PPid:[[:space:]]*$1\$" "$entry" 2>/dev/null; then
            entry=${entry#/proc/}
            echo "${entry%/status}"
            return
        fi
    done
}
worker=$gate # the last of the line that begins with it
while child=$(child_of "$worker") && [ -n "$child" ]; do worker=$child; done
proc=/proc/$worker
value() { awk -v name="$1:" '$1 == name { print $2 }' "$proc/status"; }
printf '  gate -> launcher -> worker. Of the worker, /proc says:\n'
grep -E '^(Uid|NSpid|CapEff|CapBnd|NoNewPrivs|Seccomp|Threads):' "$proc/status" | sed 's/^/    /'
claim 'it is not root' test "$(value Uid)" -gt 0
claim 'it has no capability, and can gain none' is "$(value CapEff) $(value NoNewPrivs)" '0000000000000000 1'
claim 'its system calls are filtered' is "$(value Seccomp)" 2
if full; then
    claim 'nor is there any left to gain' is "$(value CapBnd)" 0000000000000000
    printf '  its mounts:\n'
    awk '{ print "    " $5 " (" $6 ")" }' "$proc/mountinfo"
    claim 'it sees an empty root, the workspace at its own path and its store, nothing else' is \
        "$(awk '{ print $5 }' "$proc/mountinfo" | LC_ALL=C sort | tr '\n' ' ')" "/ /.sandgate $(pwd -P)/project "
    interfaces=$(awk -F: 'NR > 2 { gsub(/ /, "", $1); print $1 }' "$proc/net/dev")
    printf '  its network interfaces: %s\n' "$interfaces"
    claim 'it has a loopback of its own and no other network' is "$interfaces" lo
fi
exec 3>&- 4<&-
wait "$gate" || failed=1
gate=
gone() { # one that has ended and whom nobody has asked about yet is gone
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        case $(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "$1/status" 2>/dev/null) in '' | Z | X) return 0 ;; esac
        sleep 0.2
    done
    return 1
}
claim 'when the gate ends, so does the cell' gone "$proc"

heading 'The audit log of exactly these calls'
log=home/state/sandgate/audit/000.jsonl
sed -n 's/^.*"kind":"\(call\.[a-z]*\)".*"call":"\([0-9a-f]\{6\}\)[0-9a-f]*-\([0-9]*\)",\(.*\)}$/\2-\3 \1 \4/p' "$log" |
    sed 's/"sha256":"\([0-9a-f]\{8\}\)[0-9a-f]*"/"sha256":"\1…"/; s/"if_match_sha256":"\([0-9a-f]\{8\}\)[0-9a-f]*"/"if_match_sha256":"\1…"/
        s/^/    /' | cut -c1-168
count() { grep -c "\"kind\":\"call.$1\"" "$log" || :; }
printf '  %s calls were made: %s intents, each with an outcome, and %s refused before they began.\n' \
    "$calls" "$(count intent)" "$(count refused)"
claim 'every call is in the log, once' is "$calls" $(($(count intent) + $(count refused)))
claim 'every intent has its outcome' is "$(count intent)" "$(count outcome)"
claim 'no text that was written is in it' not_in_file "$log" 'bought'

printf '  $ sandgate audit verify\n'
answer=$(timeout 20 "$SANDGATE" audit verify) || failed=1
show "$answer"
sed 's/"ok":true/"ok":false/' "$log" >forged
cp "$log" genuine
cat forged >"$log"
status=0
answer=$(timeout 20 "$SANDGATE" audit verify 2>&1) || status=$?
show "$(printf '%s\n' "$answer" | head -n 3)"
claim 'one word that was changed is found' ended 1
cat genuine >"$log"

echo
if [ "$failed" = 0 ]; then
    echo 'All of it held.'
else
    echo 'Something above is not as it says.' >&2
fi
exit "$failed"

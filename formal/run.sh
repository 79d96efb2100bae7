#!/usr/bin/env bash
# Checks the protocol model exhaustively: the proofs hold, each variant with a rule removed fails, and the committed
# counterexamples are the ones that the variants yield.  --update writes those anew.
# Exit 0: all as it should be. 1: not so. 2: usage or tool error. 3: not checked, since spin or gcc is missing.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
model=$here/transfer.pml

update=no
case "$#:${1:-}" in
  0:) ;;
  1:--update) update=yes ;;
  *) echo "usage: formal/run.sh [--update]" >&2; exit 2 ;;
esac
for tool in spin gcc; do
  if ! command -v "$tool" >/dev/null; then
    echo "$tool is not installed: the protocol model was NOT checked"
    exit 3
  fi
done

work=$(mktemp -d) || exit 2
trap 'jobs -p | xargs -r kill 2>/dev/null; wait; rm -rf "$work"' EXIT
trap 'exit 2' INT TERM

# verify NAME SPIN_FLAGS GCC_FLAGS PAN_FLAGS leaves NAME/log, and NAME/model.pml.trail if there is a violation.
verify() {
  mkdir "$work/$1" && cd "$work/$1" || return
  cp "$model" model.pml
  # -w: generated code; NOREDUCE: every interleaving, so that nothing rests on the partial-order reduction
  # shellcheck disable=SC2086
  { spin -a $2 model.pml && gcc -w -DNOREDUCE -DMEMLIM=3000 $3 -o pan pan.c && timeout 300 ./pan $4; } >log 2>&1
  echo "rc $?" >>log
}
# Whole search, nothing cut off: depth first, with room to spare.
prove_safe() { verify "$1" "$2" '-O1 -DSAFETY' '-m2000000 -w20'; }
# -a -f: no run on which every process that stays able to move does move, and some page stays away for ever.
prove_home() { verify "$1" "-DLIVE $2" -O1 '-a -f -n -m1500000 -w22'; }
# Breadth first: the trail is a shortest one, and always the same. (It cannot keep variables hidden.)
refute() { verify "$1" "-Dhidden= -DTORN=false $2" '-O0 -DSAFETY -DBFS' '-n -w20'; }

# Two at a time; each is one core.
tasks=(
  'prove_home home-socket -DSOCKET'
  'prove_home home-shared -DSHARED'
  'prove_safe safe-socket -DSOCKET -o3'
  'prove_safe safe-shared -DSHARED -o3'
  'prove_safe no-contract -DNO_CONTRACT'
  'prove_safe no-tags -DNO_TAGS'
  'prove_home no-proof -DSHARED -DNO_PROOF'
  'refute no-fence-shared -DSHARED -DNO_FENCE'
  'refute no-fence-socket -DSOCKET -DNO_FENCE'
  'refute no-step-fence -DSOCKET -DNO_STEP_FENCE'
  'refute no-lease -DSOCKET -DNO_LEASE'
  'refute no-epoch -DSOCKET -DNO_EPOCH'
  'refute placeholder -DSOCKET -DNO_CONTRACT -DNO_TAGS'
)
for task in "${tasks[@]}"; do
  read -r how name flags <<<"$task"
  while [ "$(jobs -pr | wc -l)" -ge 2 ]; do wait -n; done
  "$how" "$name" "$flags" &
done
wait

bad=0
fail() { echo "FAILED  $1"; sed 's/^/        /' "$work/$2/log" | grep -v '^ *$' | tail -n 12; bad=1; }
numbers() {
  sed -nE 's/.*depth reached ([0-9]+), errors.*/depth \1/p; s/^ *([0-9.e+]+) states, stored.*/\1 states/p' "$work/$1/log" | sort -r | paste -sd, | sed 's/,/, /'
}
whole() { grep -q 'errors: 0$' "$work/$1/log" && grep -q '^rc 0$' "$work/$1/log" && ! grep -qE 'max search depth|not completed|out of memory' "$work/$1/log"; }

# proved NAME WHAT
proved() { if whole "$1"; then echo "proved  $2 ($(numbers "$1"))"; else fail "$2" "$1"; fi; }
# refuted NAME PATTERN WHAT
refuted() { if grep -qE "$2" "$work/$1/log"; then echo "fails   $3, as it should ($(numbers "$1"))"; else fail "$3: no violation found" "$1"; fi; }

proved safe-socket 'socket: no read of a page not owned and filled'
proved safe-shared 'shared: no read of a page not owned and filled'
proved home-socket 'socket: every page comes home, under weak fairness'
proved home-shared 'shared: every page comes home, under weak fairness'
proved no-contract 'without the contract (R4): still no such read, since tags are checked'
proved no-tags 'without the tags (R5): still no such read, since the contract is checked'

# A proof says nothing about actions that never happen (-o3 keeps each printf a step of its own, so that none is overlooked).
# Apart: `fault`, since the tag check never has to act while all other rules hold, and `home`, expanded at many places.
for name in safe-socket safe-shared; do
  idle=$(grep -A 1000 '^unreached' "$work/$name/log" | grep -o "@ [a-z%]*[^ ]* [a-z_]*" | sort -u | grep -vE '^@ decode (fault|home)$')
  case "$name" in safe-socket) elsewhere='stored?$' ;; *) elsewhere='(discard|place|placed)$' ;; esac
  idle=$(grep -vE "$elsewhere" <<<"$idle")
  if [ -n "$idle" ]; then fail "$name: never happens: $(paste -sd' ' <<<"$idle")" "$name"; fi
done

leak='assertion violated'
refuted no-fence-shared "$leak" 'shared: a page is freed while its writer is in flight (NO_FENCE)'
refuted no-fence-socket "$leak" 'socket: a page is freed while a frame is placed into it (NO_FENCE)'
refuted no-step-fence "$leak" 'a page is freed while a pass reads it (NO_STEP_FENCE)'
refuted no-lease "$leak" 'a frame of a closed lease is placed (NO_LEASE)'
refuted no-epoch "$leak" 'a lease of an earlier life of decode is honoured (NO_EPOCH)'
refuted placeholder "$leak" 'a refused request lives on, one page sent and two reserved (NO_CONTRACT, NO_TAGS)'
refuted no-proof 'acceptance cycle' "a writer's end is never reported: its pages stay in quarantine (NO_PROOF)"

# Trail to JSON: requests are counted as they reserve, 'job W' is the request that writer W was started for.
to_json() {
  awk '
    $1 != "@" { next }
    {
      if ($3 == "reserve" && last != "reserve " $5) current[$5] = requests++
      last = $3 " " $5
      request = "null"
      if ($4 == "slot") request = current[$5]
      if ($4 == "job") request = written[$5]
      if ($3 == "start") { split($2, part, "-"); written[part[2]] = request }
      printf "%s  {\"actor\": \"%s\", \"action\": \"%s\", \"request\": %s, \"page\": %s}", separator, $2, $3, request, ($6 == 9 ? "null" : $6)
      separator = ",\n"
    }
    BEGIN { print "[" }
    END { print "\n]" }'
}
trail() { # NAME FLAGS FILE
  local made=$work/$1/trail.json
  # shellcheck disable=SC2086
  (cd "$work/$1" && spin -T -k model.pml.trail -Dhidden= -DTORN=false $2 model.pml | to_json) >"$made" 2>>"$work/$1/log"
  if ! grep -q '"read"' "$made"; then fail "$3: no trail to replay" "$1"
  elif [ "$update" = yes ]; then cp "$made" "$here/$3" && echo "wrote   formal/$3"
  elif diff "$here/$3" "$made" >"$work/diff" 2>&1; then echo "same    formal/$3"
  else echo "FAILED  formal/$3 is not what the model yields (run.sh --update, then review):"; sed 's/^/        /' "$work/diff"; bad=1
  fi
}
trail no-fence-shared '-DSHARED -DNO_FENCE' counterexample.json
trail no-fence-socket '-DSOCKET -DNO_FENCE' counterexample-socket.json
trail no-step-fence '-DSOCKET -DNO_STEP_FENCE' counterexample-step.json
trail no-lease '-DSOCKET -DNO_LEASE' counterexample-lease.json
trail no-epoch '-DSOCKET -DNO_EPOCH' counterexample-epoch.json
trail placeholder '-DSOCKET -DNO_CONTRACT -DNO_TAGS' counterexample-placeholder.json

if [ "$bad" -eq 0 ]; then echo "protocol model: all as it should be (${SECONDS} s)"; else echo "protocol model: NOT as it should be"; fi
exit "$bad"

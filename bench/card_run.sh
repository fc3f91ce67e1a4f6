#!/bin/bash
# Checks and measures a card, from a folder that bench/card_pack.sh made. Builds nothing.
#
#   card_run.sh [check] [tests] [hip] [run] [probe] [link] [bench] [sanitizer]
#                                                                          (default: all of them)
#
# Each part has a time limit; a short table comes last. Logs go to $OUT (default: out/):
# summary.txt, the figures as JSON, and logs.tgz with everything that was printed.
# What bench measures: PAIRS, ROWS, ROUNDS (environment); what sanitizer checks, and for how many
# seconds: SANITIZER_PAIRS, SANITIZER_LIMIT; what probe measures: PROBE_TYPES, PROBE_ROWS. run, probe
# and link use the card CARD (cuda:0; host:0 tries the script where there is none).
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=${OUT:-$here/out}
mkdir -p "$out"
logs=$(mktemp -d)
work=$(mktemp -d -p "${SCRATCH:-/tmp}")
trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
bin=$here/bin
device=${CARD:-cuda:0}
table=()
failed=0

# row NAME STATUS SECONDS TEXT
row() { table+=("$(printf '%-28s %-8s %6s  %s' "$1" "$2" "$3" "$4")"); }

# part NAME LIMIT LAST-LINE-PATTERN COMMAND...: one command, its log, its line of the table.
part() {
  local name=$1 limit=$2 pattern=$3 start=$SECONDS status=ok
  shift 3
  timeout -k 10 "$limit" "$@" > "$logs/$name.txt" 2>&1
  local code=$?
  case $code in
    0) ;;
    77) status=skipped ;;
    124 | 137) status="cut off" ;;
    *) status=FAILED ;;
  esac
  [ "$status" = ok ] || [ "$status" = skipped ] || failed=1
  row "$name" "$status" $((SECONDS - start)) \
    "$(grep -E "$pattern" "$logs/$name.txt" | tail -1 | cut -c1-150)"
  [ "$status" = ok ] || tail -5 "$logs/$name.txt" | cut -c1-300
}

do_check() {
  part check 180 'cases,|skipped' "$bin/card_check" --json "$out/check.json"
  part fixtures 60 'fixtures,|skipped' "$bin/card_check" --fixtures "$here/fixtures" \
    --json "$out/fixtures.json"
}

# suite NAME PROGRAM: a test program. One that skipped every test has shown nothing.
suite() {
  part "$1" 120 'PASSED|FAILED' "$bin/$2" --gtest_brief=1
  grep -q 'PASSED *] 0 tests' "$logs/$1.txt" || return
  table[-1]=${table[-1]/ok      /skipped }
}

do_tests() { suite tests device_gpu_test; }

# The HIP flavour, built by the CUDA compiler: its host code and its kernels, on this card.
do_hip() {
  suite hip device_hip_on_cuda_test
  part hip-check 120 'cases,|skipped' "$bin/card_check_hip_on_cuda" --shapes odd,small \
    --rows 1,3,8,16 --json "$out/hip-check.json"
}

# Every tuned kernel and the plain one, on shapes that are quick under a checker, units of 1 to 5 rows
# in one call, and of 1 to 12. A line for each tool: cases that it saw, and what it says.
do_sanitizer() {
  local pairs=${SANITIZER_PAIRS:-all}
  if ! command -v compute-sanitizer > /dev/null; then
    row sanitizer absent 0 'no compute-sanitizer on this machine'
    return
  fi
  export -f sanitize
  part memcheck "${SANITIZER_LIMIT:-75}" 'ERROR SUMMARY|not supported' \
    bash -c 'sanitize "$@"' sanitize memcheck "$bin/card_check" "$pairs"
  table[-1]+=" ($(cases_right "$logs/memcheck.txt"))"
  # racecheck takes long over kernels that it has not seen: one pair of types at a time, four beside
  # each other.
  [ "$pairs" != all ] || pairs=$(sed -n 's/ .* rows a unit .*//p' "$logs/memcheck.txt" | sort -u)
  part racecheck "${SANITIZER_LIMIT:-300}" . xargs -P 4 -n 1 -a <(tr ', ' '\n\n' <<< "$pairs") \
    bash -c 'sanitize racecheck "$0" "$2" > "$1/racecheck-$2.txt" 2>&1' \
    "$bin/card_check" "$logs"
  cat "$logs"/racecheck-*.txt >> "$logs/racecheck.txt"
  table[-1]+="$(grep -c 'RACECHECK SUMMARY: 0 hazards' "$logs/racecheck.txt") of \
$((2 * $(wc -w <<< "${pairs//,/ }"))) runs of pairs of types without hazards \
($(cases_right "$logs/racecheck.txt"))"
}
# sanitize TOOL CARD_CHECK PAIRS
sanitize() {
  local rows
  for rows in 5 12; do
    compute-sanitizer --tool "$1" --error-exitcode 9 "$2" --smoke --brief --threads 4 \
      --shapes odd,small --rows "$rows" --pairs "$3" || return
  done
}
# cases_right LOG
cases_right() {
  awk '/: [0-9]+ cases$/ {all += $(NF - 1)} / rows a unit +ok / {++right}
    END {printf "%d of %d cases right", right, all}' "$1"
}

# Other kernels first, where a program that measures them travels with these: bin/against prints
# what card_bench --help says of --against, and takes --pairs and --rows.
do_bench() {
  local args=() which=() others=$out/against.jsonl
  [ -z "${PAIRS:-}" ] || which+=(--pairs "$PAIRS")
  [ -z "${ROWS:-}" ] || which+=(--rows "$ROWS")
  if [ -x "$bin/against" ]; then
    part against 150 'pair|no card' bash -c '"${@:2}" | tee "$1"; exit "${PIPESTATUS[0]}"' \
      against "$others" "$bin/against" "${which[@]}"
    [[ ${table[-1]} != *" ok "* ]] || args+=(--against "$others")
  fi
  args+=("${which[@]}" --json "$out/bench.json" --rounds "${ROUNDS:-9}")
  part bench 500 'cells; targets|skipped' "$bin/card_bench" "${args[@]}" \
    --trace "$here/traces/requests.safetensors,$here/traces/demo.safetensors"
  cp "$logs/bench.txt" "$out/"
  grep -E '^(pair|card_bench)|uniform' "$logs/bench.txt"
}

do_link() {
  part link-model 120 . "$bin/berth" make-model "$work/link.gguf" --layers 2 --experts 512 \
    --top-k 10 --hidden 2560 --ffn 640 --types iq3_s+iq4_nl --threads "$(nproc)"
  part link 120 'drive|skipped' "$bin/link_bench" "$work/link.gguf" --device "$device" --seconds 1 \
    --json "$out/link.json"
  grep -E '^(link|drive|overlap)' "$logs/link.txt"
  rm -f "$work/link.gguf"
}

# A field of a run's JSON.
field() { sed -n "s/^ *\"$2\": *\"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}$/\1/p" "$1" | head -1; }

# replay NAME REFERENCE ARGUMENT...: the output hash of a run of $model and $trace against that of an
# earlier run (none: -).
replay() {
  local name=$1 reference=$2 start=$SECONDS status=ok hash want
  shift 2
  timeout -k 10 60 "$bin/berth" run "$model" --trace "$trace" \
    --json "$work/$name.json" "$@" > "$logs/run-$name.txt" 2>&1 || status=FAILED
  hash=$(field "$work/$name.json" output_hash 2> /dev/null)
  if [ "$status" = ok ] && [ "$reference" != - ]; then
    want=$(field "$work/$reference.json" output_hash)
    [ -n "$hash" ] && [ "$hash" = "$want" ] || status=DIFFERS
  fi
  [ "$status" = ok ] || failed=1
  [ "$status" = ok ] || tail -2 "$logs/run-$name.txt" | cut -c1-300
  row "run $name" "$status" $((SECONDS - start)) \
    "$hash hit rate $(field "$work/$name.json" hit_rate), $(field "$work/$name.json" wall_s) s"
}

# simulated RUN ARGUMENT...: what a simulation of that run has the same: slots, and every decision.
simulated() {
  local run=$1 start=$SECONDS status=ok name got want
  shift
  "$bin/berth" simulate "$model" --trace "$trace" --json "$work/simulated.json" "$@" \
    > "$logs/simulated-$run.txt" 2>&1 || status=FAILED
  for name in arena_slots ring_slots decisions; do
    got=$(field "$work/simulated.json" $name) want=$(field "$work/$run.json" $name)
    [ "$got" = "$want" ] || status=DIFFERS
  done
  [ "$status" = ok ] || failed=1
  [ "$status" = ok ] || tail -2 "$logs/simulated-$run.txt" | cut -c1-300
  row "simulated $run" "$status" $((SECONDS - start)) \
    "$(field "$work/simulated.json" arena_slots) slots of $(field "$work/$run.json" arena_slots)"
}

# The model of run and probe.
make_run_model() {
  [ -e "$work/run.gguf" ] && return
  part run-model 60 . "$bin/berth" make-model "$work/run.gguf" --layers 8 --experts 128 --top-k 8 \
    --hidden 1024 --ffn 256 --threads "$(nproc)" --types \
    iq3_s+iq4_nl,q4_k+q4_0,iq2_s+q2_0,mxfp4+q8_0,iq3_xxs+q6_k,iq4_xs+iq4_nl,q5_k+q3_k,iq2_xxs+q2_k
}

# Measures a model's layers, chooses, and runs by the choice: the bits of runs that do not. Then the
# types of the reference shape.
do_probe() {
  make_run_model
  local model=$work/run.gguf trace=$here/traces/demo.safetensors profile=$work/machine.json
  local card=(--device "$device" --arena 200MB)
  part probe 240 '^profile' "$bin/berth" probe "$model" --device "$device" --profile "$profile"
  cp "$profile" "$out/machine.json"
  replay probe-none - "${card[@]}" --passes 100
  replay probe-chosen probe-none "${card[@]}" --passes 100 --profile "$profile"
  replay probe-wide-none - "${card[@]}" --passes 10 --window 128
  replay probe-wide-chosen probe-wide-none "${card[@]}" --passes 10 --window 128 \
    --profile "$profile"
  grep -hE '^(launches|note)' "$logs"/run-probe-*.txt
  part probe-types 400 '^profile' "$bin/berth" probe --hidden 2560 --ffn 640 --experts 512 \
    --top-k 10 --types "${PROBE_TYPES:-all}" --rows "${PROBE_ROWS:-1,2,4,8,16,64,512}" \
    --device "$device" --json "$out/probe.json"
  cat "$logs/probe-types.txt"
}

do_run() {
  make_run_model
  local card=(--device "$device" --passes 200) model=$work/run.gguf name
  local trace=$here/traces/demo.safetensors
  # One row a pass: exact everywhere, so the host's bits.
  replay host - --device host:0 --passes 200 --arena 1GB
  replay resident host "${card[@]}" --arena 1GB
  replay least host "${card[@]}" --arena 100MB
  replay small host "${card[@]}" --arena 200MB
  replay chunk-1 host "${card[@]}" --arena 100MB --chunk 1
  replay chunk-64 host "${card[@]}" --arena 100MB --chunk 64
  replay from-ram host "${card[@]}" --arena 100MB --host-tier 1GB
  replay exclusive host "${card[@]}" --arena 100MB --host-tier 1GB --host-tier-mode exclusive
  replay in-place host "${card[@]}" --arena 100MB --host-tier 1GB --miss in-place
  replay on-host host "${card[@]}" --arena 100MB --host-tier 1GB --miss host
  [[ $device == host* ]] || replay copy-kernel host "${card[@]}" --arena 100MB --copy-path kernel
  # Four rows a pass: still exact.
  replay host-4 - --device host:0 --passes 100 --window 4 --arena 1GB
  replay window-4 host-4 --device "$device" --passes 100 --window 4 --arena 100MB
  # Many rows: wide, whose bits are the card's own.
  replay wide - --device "$device" --passes 10 --window 128 --arena 1GB
  replay wide-least wide --device "$device" --passes 10 --window 128 --arena 100MB --chunk 3
  replay wide-again wide --device "$device" --passes 10 --window 128 --arena 200MB
  # An arena that is left open, beside what the card keeps for itself.
  replay open wide --device "$device" --passes 10 --window 128 --memory 250MB
  simulated open --device "$device" --passes 10 --window 128 --memory 250MB
  # Files of the format's reference writer: biases and a clamped gate, a fused tensor.
  for name in tiny-gptoss-like tiny-fused-gate-up; do
    model=$here/fixtures/$name.gguf trace=$here/fixtures/$name.safetensors
    replay "$name-host" - --device host:0 --arena 10MB
    replay "$name" "$name-host" --device "$device" --arena 10MB
    replay "$name-least" "$name-host" --device "$device" --arena 900kB
  done
}

parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(check tests hip run probe link bench sanitizer)
{
  cat "$here/version.txt"
  nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.mem --format=csv
  uname -r
  nproc
} > "$logs/machine.txt" 2>&1
for p in "${parts[@]}"; do
  case $p in
    check) do_check ;;
    tests) do_tests ;;
    hip) do_hip ;;
    run) do_run ;;
    probe) do_probe ;;
    link) do_link ;;
    bench) do_bench ;;
    sanitizer) do_sanitizer ;;
    *)
      echo "card_run.sh: no part '$p': check tests hip run probe link bench sanitizer" >&2
      exit 2
      ;;
  esac
done
{
  cat "$logs/machine.txt"
  printf '%-28s %-8s %6s\n' part status s
  printf '%s\n' "${table[@]}"
} | tee "$out/summary.txt"
tar -czf "$out/logs.tgz" -C "$logs" .
rm -rf "$logs"
exit $failed

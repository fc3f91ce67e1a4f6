#!/bin/bash
# Puts what bench/card_run.sh needs into one folder, and that into an archive, to be carried to a
# machine with an NVIDIA card: programs, the shared libraries that they load, traces, fixtures.
# There: mkdir card && tar -C card -xf card.tar.xz && card/card_run.sh
#
#   bench/card_pack.sh [FOLDER] [--preset PRESET] [--against PROGRAM]     (build/card, cuda-sm90)
#
# PROGRAM measures other kernels on the same card: bench/card_run.sh runs it beside card_bench.
set -eu
cd "$(dirname "$0")/.."
folder=build/card
preset=cuda-sm90
against=
while [ $# -gt 0 ]; do
  case "$1" in
    --preset) preset="$2"; shift 2 ;;
    --against) against="$2"; shift 2 ;;
    *) folder="$1"; shift ;;
  esac
done
build=build/$preset
jobs=${JOBS:-$(nproc)}
most=$((60 << 20))  # bytes of the archive

# A program with the HIP backend in it would want that run time on the machine.
cmake --preset "$preset" -DBERTH_HIP=OFF -DBERTH_HIP_ON_CUDA=ON > /dev/null
ninja -C "$build" -j"$jobs" berth card_bench card_check device_gpu_test device_hip_on_cuda_test \
  card_check_hip_on_cuda link_bench

rm -rf "$folder"
mkdir -p "$folder/bin" "$folder/lib" "$folder/traces" "$folder/fixtures"
for program in runtime/tools/berth bench/card/card_bench bench/card/card_check \
  bench/link_bench tests/kernels/device_gpu_test \
  tests/kernels/gpu/hip_on_cuda/device_hip_on_cuda_test \
  tests/kernels/gpu/hip_on_cuda/card_check_hip_on_cuda; do
  strip -o "$folder/bin/$(basename "$program")" "$build/$program"
done
[ -z "$against" ] || strip -o "$folder/bin/against" "$against"
# Of the C and C++ run times those of the machine are as new as these, or it could not run CUDA 13.
for program in "$folder"/bin/*; do
  ldd "$program" | awk '/=> \// {print $3}'
done | sort -u | grep -Ev '/(libc|libm|libgcc_s|libstdc\+\+|libpthread|libdl|librt|libatomic|ld-linux[^/]*)\.so' |
  while read -r library; do cp -L "$library" "$folder/lib/"; done

# Routing like that of real models at the reference shape, and a piece of a real model's.
berth="$build/runtime/tools/berth"
$berth trace synth --output "$folder/traces/requests.safetensors" --layers 12 --experts 512 \
  --top-k 10 --pass-rows 1 --passes 4096 --requests 16 --seed 5
data=tests/data
cp "$data/moe-128x8-demo.trace" "$folder/traces/demo.safetensors"
# Models of the format's reference writer, and routing for them.
cp "$data"/tiny-fused-gate-up.gguf "$data"/tiny-gptoss-like.gguf "$folder/fixtures/"
$berth trace synth --output "$folder/fixtures/tiny-fused-gate-up.safetensors" --layers 1 \
  --experts 8 --top-k 2 --pass-rows 1 --passes 200 --requests 4
$berth trace synth --output "$folder/fixtures/tiny-gptoss-like.safetensors" --layers 2 \
  --experts 8 --top-k 2 --pass-rows 1 --passes 200 --requests 4
# Weights and results that others computed; the larger ones where the build knows of them.
cp "$data/golden-blocks.safetensors" "$folder/fixtures/"
shared=$(sed -n 's/^BERTH_SHARED_DATA:PATH=//p' "$build/CMakeCache.txt")
for file in "$shared"/fixtures/tiny-qwen-like*; do
  if [ -e "$file" ]; then cp "$file" "$folder/fixtures/"; fi
done
chmod -R u+w "$folder/fixtures"
cp bench/card_run.sh "$folder/"
git log -1 --format='%H %cd' > "$folder/version.txt"

# The programs hold the same kernels: a window as wide as two of them finds that out.
tar -C "$folder" -cf - . | xz -T0 --lzma2=preset=3,dict=96MiB > "$folder.tar.xz"
bytes=$(stat -c %s "$folder.tar.xz")
echo "$folder: $(du -sm "$folder" | cut -f1) MiB; $folder.tar.xz: $((bytes >> 20)) MiB"
if [ "$bytes" -gt "$most" ]; then
  echo "card_pack.sh: more than $((most >> 20)) MiB: leave something out" >&2
  exit 1
fi

#!/usr/bin/env bash
# The step of the GitHub Action. Inputs come as variables and are never part of a script, so a value cannot become a command.
set -euo pipefail

# macOS has Bash 3.2, where "${arguments[@]}" of an empty array is an unset variable.
arguments=()
while IFS= read -r line; do [ -z "$line" ] || arguments+=("$line"); done <<<"${LADING_ARGUMENTS:-}"

case "$LADING_COMMAND" in
  test)
    lading test "$LADING_DIRECTORY" ${arguments[@]+"${arguments[@]}"}
    ;;
  import)
    lading import "$LADING_FILE" --yes --watch ${arguments[@]+"${arguments[@]}"}
    ;;
  diff)
    file=$(mktemp)
    code=0
    lading config diff "$LADING_DIRECTORY" ${arguments[@]+"${arguments[@]}"} >"$file" || code=$?
    cat "$file"
    # 8: the files and the server differ. It is the result of a review, and no failure.
    [ "$code" = 0 ] || [ "$code" = 8 ] || exit "$code"
    changed=$([ "$code" = 8 ] && echo true || echo false)
    echo "changed=$changed" >>"$GITHUB_OUTPUT"
    node "$GITHUB_ACTION_PATH/comment.mjs" "$file" "$changed"
    ;;
  *)
    echo "Unknown command: $LADING_COMMAND. Use test, diff or import." >&2
    exit 4
    ;;
esac

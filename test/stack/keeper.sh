#!/bin/sh
# A dead man's switch. Its standard input is a pipe from the process it watches: however that process ends (kill -9
# included) the pipe closes, and then everything listed here is stopped and removed. One order per line:
#   run <pid>:<first>:<second>   stop this group leader: the first signal, then the second, then KILL
#   end <pid>                    the process has ended, and its id may be reused
#   remove <path>                remove this once nothing runs
# A shell and not Node: it starts in a millisecond, and survives `killall -9 node`.
# usage: sh keeper.sh <seconds between the first signal and the second>
trap '' HUP INT TERM
grace=$1
shift
running=
while read -r order subject; do
  case $order in
    run) running="$running $subject" ;;
    end)
      kept=
      for entry in $running; do [ "${entry%%:*}" = "$subject" ] || kept="$kept $entry"; done
      running=$kept
      ;;
    remove) set -- "$@" "$subject" ;;
  esac
done

# A zombie has ended; it stays forever if process 1 collects no children.
alive() { kill -0 "$1" 2>/dev/null && ! grep -q ') Z ' "/proc/$1/stat" 2>/dev/null; }

any_alive() {
  for entry in $running; do alive "${entry%%:*}" && return 0; done
  return 1
}

# Only KILL goes to the group: Postgres expects milder signals at the postmaster alone.
signal_all() {
  for entry in $running; do
    pid=${entry%%:*} signals=${entry#*:}
    alive "$pid" || continue
    case $1 in
      first) kill -s "${signals%%:*}" "$pid" 2>/dev/null ;;
      second) kill -s "${signals##*:}" "$pid" 2>/dev/null ;;
      last) kill -s KILL -- "-$pid" 2>/dev/null || kill -s KILL "$pid" 2>/dev/null ;;
    esac
  done
}

wait_for() {
  steps=$1
  while [ "$steps" -gt 0 ] && any_alive; do
    sleep 0.05
    steps=$((steps - 1))
  done
}

signal_all first
wait_for $((grace * 20))
signal_all second
wait_for 60
signal_all last
wait_for 40

# Another process may still be writing there, such as a Postgres that is about to end.
for path in "$@"; do
  for attempt in 1 2 3 4 5 6 7 8 9 10; do rm -rf -- "$path" 2>/dev/null && break || sleep 0.5; done
done

/** Exit codes. Scripts depend on them, so a number never changes its meaning. */
export const EXIT = {
  ok: 0,
  failed: 1,
  rows: 2,
  stopped: 3,
  usage: 4,
  signedOut: 5,
  unreachable: 6,
  refused: 7,
  different: 8,
  changes: 9,
  hungUp: 129,
  interrupted: 130,
  pipeClosed: 141,
  terminated: 143,
} as const

export const exitCodes: [number, string][] = [
  [EXIT.ok, 'Success. For a watched run: it ended, and every row was written or intentionally skipped'],
  [EXIT.failed, 'Another error on this machine, such as a full disk'],
  [
    EXIT.rows,
    'The run ended, but some rows were not written: refused, failed, unanswered, or changed after the plan (see --fail-on). For checks: rows would fail. For test: a case failed',
  ],
  [EXIT.stopped, 'The run was stopped before its end: by a person, by a limit of the plan, or by the CRM'],
  [EXIT.usage, 'The command is invalid, or a file cannot be read. Nothing was done'],
  [EXIT.signedOut, 'Not signed in, or the session or token is no longer valid. A watched run continues'],
  [
    EXIT.unreachable,
    'The server is unreachable, did not respond in time, or is temporarily unavailable. Try again later. For schedules fire --wait: no run has started within ten minutes',
  ],
  [EXIT.refused, 'The server refused the request, or the name or id does not exist. The error code is shown'],
  [
    EXIT.different,
    'Local files and the server differ: config diff, a config pull or push that would lose changes, or a config push that skipped a library. For doctor: the CRM does not behave as expected. For schedules test: the file does not fit the template',
  ],
  [EXIT.changes, 'Of plan with --exit-code: the plan would write rows'],
  [EXIT.hungUp, 'The terminal was closed (SIGHUP). A watched run continues'],
  [EXIT.interrupted, 'Interrupted by Ctrl-C, or a question was answered with no. A watched run continues'],
  [EXIT.pipeClosed, 'The reader of the output closed it, as head does'],
  [EXIT.terminated, 'Terminated (SIGTERM), for example by CI. A watched run continues'],
]

/** What a command ends with. Scripts look at these, so a number is never given another meaning. */
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
  hungUp: 129,
  interrupted: 130,
  pipeClosed: 141,
  terminated: 143,
} as const

export const exitCodes: [number, string][] = [
  [
    EXIT.ok,
    'All that was asked is done. Of a run that is watched: it came to its end, and every row was written or passed over on purpose',
  ],
  [EXIT.failed, 'Something else failed on this machine, such as a disk that is full'],
  [
    EXIT.rows,
    'The run came to its end, and some rows were not written: refused, failed or never answered (--fail-on says which count). Of checks: rows would fail',
  ],
  [EXIT.stopped, 'The run was stopped before its end: by a person, by the plan, or because the CRM refused to go on'],
  [EXIT.usage, 'The command does not make sense as it stands, or a file it names cannot be read. Nothing was done'],
  [EXIT.signedOut, 'Nobody is signed in, or the session or token is good no longer. A run that was watched goes on'],
  [EXIT.unreachable, 'The server cannot be reached, did not answer in time, or says that it cannot serve just now: try again later'],
  [EXIT.refused, 'The server refused, or there is nothing of that name or id; its code is shown'],
  [
    EXIT.different,
    'What is here and what is there differ: config diff, a config pull or push that would lose changes, and a config push that skipped a library',
  ],
  [EXIT.hungUp, 'The terminal was closed (SIGHUP). A run that was watched goes on'],
  [EXIT.interrupted, 'Interrupted by Ctrl-C. A run that was watched goes on'],
  [EXIT.pipeClosed, 'Whoever read the output closed it, as head does'],
  [EXIT.terminated, 'Ended from outside, as a CI does that stops a job (SIGTERM). A run that was watched goes on'],
]

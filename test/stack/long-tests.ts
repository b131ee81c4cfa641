import fs from 'node:fs'

/**
 * The tests that `npm test` leaves to `npm run test:long`: kills at every point, faults, random input, large files, and installations. Each of these
 * files takes more than about six seconds on an idle machine.
 */
const PATTERNS = [
  'test/**/*-kills.test.ts',
  'test/faults/{chaos,chaos-*,mutants,seeds-*,undo-seed}.test.ts',
  'test/api/{ai-canaries,ai-credits,billing-yearly-end,chat-faults,cursors,fuzz,longest-turn,naughty-strings,parsing}.test.ts',
  'test/api/{libraries,record-claims-races,record-claims-refused,registry,results-parts}.test.ts',
  'test/clients/{cli-import,cli-install,cli-interrupted,cli-mapping,cli-runs,cli-setup,import-tests}.test.ts',
  'test/other-orgs-ids.test.ts',
  'test/security/s04-slow-clients.test.ts',
  'test/shared/{expressions/runtime,files/xlsx-refused}.test.ts',
  'test/stack/{postgres,start,up}.test.ts',
  'test/workers/{archive,billing-crash,billing-orders,checks-large,import-restarts,import-unchanged-files,import-wide}.test.ts',
  'test/workers/{import-unanswered-creates,match-snapshot,retention,uploads,verify-planted,watchdog}.test.ts',
]

/** Lists the test files of both commands. Every test file is in exactly one list. Throws for a pattern without a file. */
export const listTestFiles = (patterns: readonly string[] = PATTERNS): {short: string[]; long: string[]} => {
  const empty = patterns.find(pattern => fs.globSync(pattern).length === 0)
  if (empty) throw new Error(`No test file matches ${empty}. Correct test/stack/long-tests.ts`)
  const long = new Set(fs.globSync([...patterns]))
  return {short: fs.globSync('test/**/*.test.ts').filter(file => !long.has(file)), long: [...long]}
}

import test from 'ava'
import {hasOnlyFailedTests} from './run-tests.ts'

const failed = ['  ✔ one › a', '  ✘ [fail]: one › b Error thrown in test', '  ─', '', '  one › b', '', '  ─', '', '  2 tests failed', '']

test('a run whose only errors are failed tests may run their files again', t => {
  t.true(hasOnlyFailedTests(failed.join('\n')))
})

test('a run with any other error may not', t => {
  for (const line of ['  ✘ one exited due to SIGKILL', '  ✘ 2 tests remaining in one', '  ✘ Timed out while running tests'])
    t.false(hasOnlyFailedTests([line, ...failed].join('\n')), line)
  for (const line of ['  1 hook failed', '  1 uncaught exception', '  1 unhandled rejection', '  1 test remained pending after a timeout'])
    t.false(hasOnlyFailedTests([...failed, line].join('\n')), line)
  t.false(hasOnlyFailedTests('  ─\n\n  4 tests passed\n'))
})

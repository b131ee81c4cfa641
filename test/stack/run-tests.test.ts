import test from 'ava'
import {listTestFiles} from './long-tests.ts'
import {listFailedFiles} from './run-tests.ts'

const isFile = (path: string) => ['test/access.test.ts', 'test/workers/archive.test.ts'].includes(path)

const output = [
  '  ✔ access › a row is read › twice',
  '  ✘ [fail]: access › a role › a right is missing Rejected promise returned by test',
  '  ✘ [fail]: workers › archive › the world ends Assertion failed',
  '  ─',
  '',
  '  access › a role › a right is missing',
  '',
  '  ─',
  '',
  '  1 hook failed',
  '  1 test failed',
  '',
]

test('the files of failed tests and hooks are listed once', t => {
  t.deepEqual(listFailedFiles([...output, ''].join('\n'), isFile), ['test/access.test.ts', 'test/workers/archive.test.ts'])
  t.deepEqual(listFailedFiles([output[1], ...output].join('\n'), isFile), ['test/access.test.ts', 'test/workers/archive.test.ts'])
})

test('the files of processes that the runtime aborted are listed, with and without failed tests', t => {
  const aborted = '  ✘ test/access.test.ts exited due to SIGABRT'
  t.deepEqual(listFailedFiles([aborted, output[2], ...output.slice(3)].join('\n'), isFile), [
    'test/access.test.ts',
    'test/workers/archive.test.ts',
  ])
  t.deepEqual(listFailedFiles([aborted, '  ─', '', '  4 tests passed', ''].join('\n'), isFile), ['test/access.test.ts'])
})

test('no files are listed after any other error', t => {
  for (const line of [
    '  ✘ test/access.test.ts exited due to SIGKILL',
    '  ✘ test/unknown.test.ts exited due to SIGABRT',
    '  ✘ 2 tests remaining in one',
    '  ✘ Timed out while running tests',
    '  ✘ [fail]: unknown › b',
  ])
    t.is(listFailedFiles([line, ...output].join('\n'), isFile), null, line)
  for (const line of ['  1 uncaught exception', '  1 unhandled rejection', '  1 test remained pending after a timeout'])
    t.is(listFailedFiles([...output, line].join('\n'), isFile), null, line)
  t.is(listFailedFiles('  ─\n\n  4 tests passed\n', isFile), null)
})

test('each test file belongs to one of the two commands, and a pattern without a file is refused', t => {
  const {short, long} = listTestFiles()
  t.true(short.includes('test/stack/run-tests.test.ts'))
  t.true(long.includes('test/workers/import-kills.test.ts'))
  t.is(new Set([...short, ...long]).size, short.length + long.length)
  t.throws(() => listTestFiles(['test/absent.test.ts']), {message: /No test file matches test\/absent/})
  t.throws(() => listTestFiles(['test/{boundaries,absent}.test.ts']), {message: /No test file matches test\/absent/})
})

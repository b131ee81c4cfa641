import test from 'ava'
import {readLibrary} from '../../../shared/expressions/library.ts'
import {LIMITS} from '../../../shared/expressions/limits.ts'
import {ModuleProblem} from '../../../shared/expressions/module-source.ts'
import {openSandbox, type Sandbox} from '../../../shared/expressions/sandbox.ts'
import {bombs} from './bombs.ts'

/** A sandbox of its own for the corpus, so that a bomb is timed alone and the one before it is seen not to have harmed it. */
let sandbox: Sandbox
test.before(() => {
  sandbox = openSandbox()
})
test.after.always(() => sandbox.close())

const libraryOf = (source: string) =>
  readLibrary({
    source,
    manifest: {
      namespace: 'bomb',
      version: '1.0.0',
      scope: 'org',
      description: '',
      functions: [{name: 'go', description: '', parameters: [], examples: []}],
    },
  })

const explode = async (source: string, library: string | undefined) => {
  try {
    const libraries = library ? [libraryOf(library)] : []
    const [row] = await sandbox.evaluate({...batch, libraries, expressions: {bomb: source}})
    const outcome = row!.bomb
    return 'error' in outcome
      ? {code: outcome.error.code, says: outcome.error.message}
      : {code: 'value' as const, says: JSON.stringify(outcome.value)}
  } catch (error) {
    if (error instanceof ModuleProblem) return {code: 'LIBRARY_LOAD' as const, says: error.message}
    throw error
  }
}

const batch = {rows: [{n: 41}], clock: 0, seed: 'bombs'}

/** The bound is twice the row's time; what a machine shared with other tests may add to it is allowed on top. */
const longest = LIMITS.rowMilliseconds * 2
const slack = 600

test('there are at least sixty bombs, each with a name of its own', t => {
  t.true(new Set(bombs.map(({name}) => name)).size >= 60)
  t.is(new Set(bombs.map(({name}) => name)).size, bombs.length)
})

for (const {name, source, library, ends} of bombs)
  test.serial(`${name} is answered in time, and the next evaluation is fine`, async t => {
    t.deepEqual(await sandbox.evaluate({...batch, expressions: {next: 'row.n + 1'}}), [{next: {value: 42}}])
    const before = performance.now()
    const {code, says} = await explode(source, library)
    const took = performance.now() - before
    t.true(ends.includes(code), `${code}: ${says.slice(0, 200)}`)
    t.true(took < longest + slack, `${took.toFixed(0)} ms`)
    t.regex(says, /\w|""/)
    t.deepEqual(await sandbox.evaluate({...batch, expressions: {next: 'row.n + 1'}}), [{next: {value: 42}}])
  })

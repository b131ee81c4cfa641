import {readFile} from 'node:fs/promises'
import test from 'ava'
import {changeText} from './mutant.ts'
import {noClose, noFence} from './mutants.ts'

/** Checks that each text that a mutant replaces still exists. The mutants themselves run in `npm run test:long`, which takes much longer. */
for (const change of [...noFence, ...noClose])
  test(`the mutant of ${change.file} still finds the safeguard that it removes: ${change.from.slice(0, 40)}`, async t => {
    const source = await readFile(new URL(`../../${change.file}`, import.meta.url), 'utf8')
    t.not(changeText(source, change), source)
  })

import {existsSync, readFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import test from 'ava'
import {ofCallers} from './threats-of-callers.ts'
import {ofSurroundings} from './threats-of-surroundings.ts'

const threats = {...ofCallers, ...ofSurroundings}

const root = fileURLToPath(new URL('../..', import.meta.url))

test('each of the eighteen threats has a test for every claim, under a title that exists in its file', t => {
  t.deepEqual(
    Object.keys(threats),
    Array.from({length: 18}, (_, at) => `S${at + 1}`),
  )
  for (const [id, {held}] of Object.entries(threats))
    for (const [what, proofs] of Object.entries(held)) {
      t.true(proofs.length > 0, `${id}: ${what}`)
      for (const [file, title] of proofs) {
        t.true(existsSync(root + file), `${id}: ${file}`)
        t.true(existsSync(root + file) && readFileSync(root + file, 'utf8').includes(title), `${id}: ${file}: ${title}`)
      }
    }
})

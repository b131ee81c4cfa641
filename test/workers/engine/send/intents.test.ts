import test from 'ava'
import {GATE_SHUT, type Intent} from '../../../../sql/ledger.ts'
import {openIntents} from '../../../../workers/engine/send/intents.ts'

const intent = (batch: number): Intent => ({
  run: 1,
  fence: 1,
  batch,
  flow: 1,
  module: 1,
  kind: 0,
  answerSeconds: 10,
  leaseSeconds: 60,
  rows: [{key: `f.${batch}`, number: batch, attempt: 1, target: null, hasUniqueKey: true}],
})

const failing = (code: string) => Object.assign(new Error(code), {code})

/** Opens an intent writer that records which batches share a statement. A statement fails with what `fails` returns. */
const open = (fails: (batches: number[]) => Error | null = () => null) => {
  const said: number[][] = []
  const intend = openIntents(async intents => {
    const batches = intents.map(({batch}) => batch)
    said.push(batches)
    await new Promise(setImmediate)
    const error = fails(batches)
    if (error) throw error
  })
  const all = (count: number) =>
    Promise.all(
      Array.from({length: count}, (_, at) =>
        intend(intent(at + 1)).then(
          () => 'kept',
          ({code}: {code: string}) => code,
        ),
      ),
    )
  return {said, all}
}

test('waiting intents are committed together, in their order and at most eight at once', async t => {
  const {said, all} = open()
  t.deepEqual(new Set(await all(10)), new Set(['kept']))
  t.deepEqual(said, [[1], [2, 3, 4, 5, 6, 7, 8, 9], [10]])
  t.deepEqual(await all(1), ['kept'])
})

test('a closed gate for several intents is checked again for each of them', async t => {
  const {said, all} = open(batches => (batches.includes(3) ? failing(GATE_SHUT) : null))
  t.deepEqual(await all(4), ['kept', 'kept', GATE_SHUT, 'kept'])
  t.deepEqual(said, [[1], [2, 3, 4], [2], [3], [4]])
})

test('an intent that was committed before does not make the others count as committed', async t => {
  const {all} = open(batches => (batches.includes(2) ? failing('23505') : null))
  t.deepEqual(await all(4), ['kept', '23505', 'kept', 'kept'])
})

test('a commit statement without an answer leaves all its batches unknown', async t => {
  const {said, all} = open(batches => (batches.length > 1 ? failing('08006') : null))
  t.deepEqual(await all(3), ['kept', '08006', '08006'])
  t.deepEqual(said, [[1], [2, 3]])
})

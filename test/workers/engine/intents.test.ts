import test from 'ava'
import {GATE_SHUT, type Intent} from '../../../sql/ledger.ts'
import {openIntents} from '../../../workers/engine/intents.ts'

const intent = (batch: number): Intent => ({
  ...{run: 1, fence: 1, batch, flow: 1, module: 1, kind: 0, answerSeconds: 10, leaseSeconds: 60},
  rows: [{key: `f.${batch}`, number: batch, attempt: 1, target: null, witness: true}],
})

const failing = (code: string) => Object.assign(new Error(code), {code})

/** Tells what was said together, and fails as `fails` says. */
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

test('intents that wait are said together, in their order and not too many', async t => {
  const {said, all} = open()
  t.deepEqual(new Set(await all(10)), new Set(['kept']))
  t.deepEqual(said, [[1], [2, 3, 4, 5, 6, 7, 8, 9], [10]])
  t.deepEqual(await all(1), ['kept'])
})

test('a gate that is shut for several is asked for each of them', async t => {
  const {said, all} = open(batches => (batches.includes(3) ? failing(GATE_SHUT) : null))
  t.deepEqual(await all(4), ['kept', 'kept', GATE_SHUT, 'kept'])
  t.deepEqual(said, [[1], [2, 3, 4], [2], [3], [4]])
})

test('one that was kept before does not make the others pass for kept', async t => {
  const {all} = open(batches => (batches.includes(2) ? failing('23505') : null))
  t.deepEqual(await all(4), ['kept', '23505', 'kept', 'kept'])
})

test('what became of a statement that nobody answered is known of none of its batches', async t => {
  const {said, all} = open(batches => (batches.length > 1 ? failing('08006') : null))
  t.deepEqual(await all(3), ['kept', '08006', '08006'])
  t.deepEqual(said, [[1], [2, 3]])
})

import test from 'ava'
import {mostCandidates} from '../../../../sql/questions.ts'
import {answerOf} from '../../../../workers/engine/compose/lookups.ts'

test('an answer counts all records once, and has the oldest ones as candidates', t => {
  const ids = Array.from({length: mostCandidates + 5}, (_, n) => `${4_400_001_000_000_000_000n + BigInt(n)}`)
  const {found, candidates} = answerOf([...ids].reverse().concat(ids[0]!))
  t.is(found, ids.length)
  t.deepEqual(candidates, ids.slice(0, mostCandidates))
})

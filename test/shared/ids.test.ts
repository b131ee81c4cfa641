import test from 'ava'
import {newId} from '../../shared/ids.ts'

test('ids sort in order of creation, also within a millisecond, and are unique', t => {
  const ids = Array.from({length: 20_000}, () => newId('run'))
  t.deepEqual(ids.toSorted(), ids)
  t.is(new Set(ids).size, ids.length)
  for (const id of ids.slice(0, 50)) t.regex(id, /^run_[0-9a-hjkmnp-tv-z]{26}$/)
})

test('an id contains its time of creation', t => {
  const before = Date.now()
  const id = newId('imp')
  const digits = [...id.slice(4)].map(letter => '0123456789abcdefghjkmnpqrstvwxyz'.indexOf(letter))
  const bits = digits.reduce((sum, digit) => sum * 32n + BigInt(digit), 0n)
  const moment = Number(bits >> 80n)
  t.true(moment >= before && moment <= Date.now() + 10, `${moment} is not now`)
})

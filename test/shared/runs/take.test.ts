import test from 'ava'
import {judgeTake} from '../../../shared/runs/take.ts'

const at = (seconds: number) => Date.UTC(2026, 4, 1, 12) + seconds * 1000
const text = (seconds: number) => new Date(at(seconds)).toISOString().replace('.000Z', '+00:00')
const made = (seconds: number, by = 'ana') => ({Created_By: {id: by, name: 'Somebody'}, Created_Time: text(seconds)})
const judge = (record: Record<string, unknown> | null, clockOffsetMs: number | null = 0) =>
  judgeTake({record, crmUser: 'ana', chainStartMs: at(0) + 900, clockOffsetMs})
const refused = (why: string) => ({taken: false, why})

test('a record of our own user that is as young as the chain is taken', t => {
  t.deepEqual(judge(made(0)), {taken: true})
  t.deepEqual(judge(made(3600)), {taken: true})
})

test('its time is cut to the second, and up to two seconds before the chain it is taken', t => {
  t.deepEqual(judge(made(-1)), {taken: true})
  t.deepEqual(judge(made(-2)), refused('earlier'))
})

test("somebody else's record, one that is gone and one that does not say enough are not taken", t => {
  t.deepEqual(judge(made(0, 'ben')), refused('another'))
  t.deepEqual(judge(made(-3600, 'ben')), refused('another'))
  t.deepEqual(judge(null), refused('gone'))
  for (const lack of [{Created_By: null}, {Created_By: {name: 'Ana'}}, {Created_Time: null}, {Created_Time: 'yesterday'}]) {
    t.deepEqual(judge({...made(0), ...lack}), refused('unread'))
  }
})

test("a CRM whose clock is off is judged by its clock: times of ours that it never showed don't count", t => {
  for (const hours of [-1, 1]) {
    const offset = hours * 3600
    t.deepEqual(judge(made(offset), offset * 1000), {taken: true})
    t.deepEqual(judge(made(offset - 1), offset * 1000), {taken: true})
    t.deepEqual(judge(made(offset - 2), offset * 1000), refused('earlier'))
  }
})

test('clocks that agree to within two seconds, or of which nothing is known, widen nothing', t => {
  for (const offset of [-2_000, -1_000, 1_000, 2_000, null]) {
    t.deepEqual(judge(made(-2), offset), refused('earlier'))
    t.deepEqual(judge(made(-1), offset), {taken: true})
  }
})

test("a CRM's clock that was set while the chain ran leaves open what it may have made before or since", t => {
  const clockRange = {lowMs: 0, highMs: 3_600_000}
  const judgeIn = (seconds: number) =>
    judgeTake({record: made(seconds), crmUser: 'ana', chainStartMs: at(0) + 900, clockOffsetMs: 3_600_000, clockRange})
  t.deepEqual(judgeIn(3600), {taken: true})
  t.deepEqual(judgeIn(10), refused('unclear'))
  t.deepEqual(judgeIn(-3600), refused('earlier'))
})

import test from 'ava'
import {judgeRecord} from '../../../../shared/runs/record-claims/verdict.ts'

const at = (seconds: number) => Date.UTC(2026, 4, 1, 12) + seconds * 1000
const text = (seconds: number) => new Date(at(seconds)).toISOString().replace('.000Z', '+00:00')
const made = (seconds: number, by = 'ana') => ({Created_By: {id: by, name: 'Somebody'}, Created_Time: text(seconds)})
const judge = (record: Record<string, unknown> | null, clockOffsetMs: number | null = 0) =>
  judgeRecord({record, crmUser: 'ana', chainStartMs: at(0) + 900, clockOffsetMs})
const refused = (why: string) => ({taken: false, why})

test('a record of our CRM user created during the chain can be claimed', t => {
  t.deepEqual(judge(made(0)), {taken: true})
  t.deepEqual(judge(made(3600)), {taken: true})
})

test('times are compared in whole seconds, with a tolerance of two seconds before the chain', t => {
  t.deepEqual(judge(made(-1)), {taken: true})
  t.deepEqual(judge(made(-2)), refused('earlier'))
})

test('a record of another user, a deleted one and one without its data cannot be claimed', t => {
  t.deepEqual(judge(made(0, 'ben')), refused('another'))
  t.deepEqual(judge(made(-3600, 'ben')), refused('another'))
  t.deepEqual(judge(null), refused('gone'))
  for (const lack of [{Created_By: null}, {Created_By: {name: 'Ana'}}, {Created_Time: null}, {Created_Time: 'yesterday'}]) {
    t.deepEqual(judge({...made(0), ...lack}), refused('unread'))
  }
})

test('a CRM with a wrong clock is judged by its own clock only', t => {
  for (const hours of [-1, 1]) {
    const offset = hours * 3600
    t.deepEqual(judge(made(offset), offset * 1000), {taken: true})
    t.deepEqual(judge(made(offset - 1), offset * 1000), {taken: true})
    t.deepEqual(judge(made(offset - 2), offset * 1000), refused('earlier'))
  }
})

test('clocks within two seconds, or with an unknown offset, extend no tolerance', t => {
  for (const offset of [-2_000, -1_000, 1_000, 2_000, null]) {
    t.deepEqual(judge(made(-2), offset), refused('earlier'))
    t.deepEqual(judge(made(-1), offset), {taken: true})
  }
})

test('a CRM clock changed during the chain leaves records of the range unclear', t => {
  const clockRange = {lowMs: 0, highMs: 3_600_000}
  const judgeIn = (seconds: number) =>
    judgeRecord({record: made(seconds), crmUser: 'ana', chainStartMs: at(0) + 900, clockOffsetMs: 3_600_000, clockRange})
  t.deepEqual(judgeIn(3600), {taken: true})
  t.deepEqual(judgeIn(10), refused('unclear'))
  t.deepEqual(judgeIn(-3600), refused('earlier'))
})

test('a record with a higher id than one of the chain is younger, regardless of its time', t => {
  const asked = {record: made(-3600), crmUser: 'ana', chainStartMs: at(0) + 900, clockOffsetMs: 0}
  t.deepEqual(judgeRecord({...asked, isYounger: true}), refused('unclear'))
  t.deepEqual(judgeRecord({...asked, isYounger: false}), refused('earlier'))
  t.deepEqual(judgeRecord({...asked, record: made(0), isYounger: true}), {taken: true})
})

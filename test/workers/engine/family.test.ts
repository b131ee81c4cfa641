import test from 'ava'
import {endAll, judgeFamily, type Member} from '../../../workers/engine/family.ts'
import type {Failure, Row} from '../../../workers/engine/row.ts'

const row = (number: number, more: Partial<Member> = {}): Member => ({
  composed: {number, key: `f.${number}`, payload: {}, counted: null, attempt: 0} as unknown as Row,
  ...{isIn: true, isOver: false, theirs: null, ...more},
})
const failure = (number: number, said: Partial<Failure> = {}, more: Partial<Member> = {}): Member => ({
  composed: {number, key: `f.${number}`, code: 'INVALID_VALUE', message: 'It is no number', target: null, ...said},
  ...{isIn: true, isOver: false, theirs: null, ...more},
})
const asks = {} as NonNullable<Failure['asks']>

const judge = (...members: Member[]) => {
  const {rows, ends, filtered} = judgeFamily('77', members)
  return {rows: rows.map(({number}) => number), ends: ends.map(({row, outcome, code}) => [row.number, outcome, code]), filtered}
}

test('rows of one record are written all of them or none', t => {
  t.deepEqual(judge(row(1), row(2)), {rows: [1, 2], ends: [], filtered: 0})
  t.deepEqual(judge(row(1), failure(2)), {
    ...{rows: [], filtered: 0},
    ends: [
      [2, 'failed', 'INVALID_VALUE'],
      [1, 'skipped', 'ROW_OF_SAME_PARENT'],
    ],
  })
  t.deepEqual(judge(row(1), failure(2, {end: 'skipped', code: 'LOOKUP_MANY', asks})).rows, [], 'one that a person is asked about')
  t.deepEqual(judge(row(1), row(2, {isIn: false})), {rows: [], ends: [[1, 'skipped', 'ROWS_APART']], filtered: 0})
})

test('rows left out on purpose are in nobody’s way', t => {
  const held = failure(2, {end: 'held'})
  const guarded = failure(3, {end: 'skipped', code: 'GUARDED'})
  t.deepEqual(judge(row(1), held, guarded), {rows: [1], ends: [[3, 'skipped', 'GUARDED']], filtered: 1})
  t.deepEqual(judge(row(1), failure(2, {end: 'held'}, {isIn: false})), {rows: [1], ends: [], filtered: 0})
})

test('a record whose rows were all written by the chain is left alone; one new row has all of them written again', t => {
  const theirs = {theirs: '77'}
  t.deepEqual(judge(row(1, theirs), failure(2, {}, theirs), failure(3, {end: 'held'})), {
    ...{rows: [], filtered: 1},
    ends: [
      [1, 'inherited', null],
      [2, 'inherited', null],
    ],
  })
  t.deepEqual(judge(row(1, theirs), row(2, {...theirs, isIn: false})).ends, [[1, 'inherited', null]])
  t.deepEqual(judge(row(1, theirs), row(2)).rows, [1, 2])
  t.deepEqual(judge(row(1, theirs), row(2, {theirs: '78'})).rows, [1, 2], 'written to another record')
})

test('what is over is not said again', t => {
  const over = {isOver: true}
  t.deepEqual(judge(row(1, over), row(2, over), failure(3, {end: 'skipped', code: 'GUARDED'}, over)), {rows: [], ends: [], filtered: 0})
  t.deepEqual(judge(row(1, over), failure(2)).ends, [[2, 'failed', 'INVALID_VALUE']])
})

test('rows that were sent and not answered are not said to have failed', t => {
  const rows = [0, 1].map(attempt => ({...(row(1).composed as Row), attempt}))
  const ends = endAll(rows, {outcome: 'failed', code: 'BATCH_SIZE', message: 'Too many'})
  t.deepEqual(
    ends.map(({outcome, code}) => [outcome, code]),
    [
      ['failed', 'BATCH_SIZE'],
      ['unanswered', 'BATCH_SIZE'],
    ],
  )
  t.regex(ends[1]!.message!, /may be there.*Too many$/)
})

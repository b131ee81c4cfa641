import test from 'ava'
import type {ImportRow, RowFailure} from '../../../../workers/engine/model.ts'

import {endAll, judgeGroup, type SubformGroupMember} from '../../../../workers/engine/subform/subform-group.ts'

const row = (number: number, more: Partial<SubformGroupMember> = {}): SubformGroupMember => ({
  composed: {number, key: `f.${number}`, payload: {}, counted: null, attempt: 0, open: false} as unknown as ImportRow,
  isIn: true,
  isOver: false,
  inherited: null,
  ...more,
})
const failure = (number: number, said: Partial<RowFailure> = {}, more: Partial<SubformGroupMember> = {}): SubformGroupMember => ({
  composed: {number, key: `f.${number}`, code: 'INVALID_VALUE', message: 'It is no number', target: null, ...said},
  isIn: true,
  isOver: false,
  inherited: null,
  ...more,
})
/** A row that the run has sent without an answer. */
const lost = (number: number): ImportRow => ({...(row(number).composed as ImportRow), attempt: 1, counted: 'unanswered', open: true})
const tooMany = {outcome: 'failed', code: 'BATCH_SIZE', message: 'Too many'} as const
const asks = {} as NonNullable<RowFailure['question']>

const judge = (...members: SubformGroupMember[]) => {
  const {rows, ends, filtered} = judgeGroup('77', members)
  return {rows: rows.map(({number}) => number), ends: ends.map(({row, outcome, code}) => [row.number, outcome, code]), filtered}
}

test('all rows of one parent record are written, or none of them', t => {
  t.deepEqual(judge(row(1), row(2)), {rows: [1, 2], ends: [], filtered: 0})
  t.deepEqual(judge(row(1), failure(2)), {
    rows: [],
    filtered: 0,
    ends: [
      [2, 'failed', 'INVALID_VALUE'],
      [1, 'skipped', 'ROW_OF_SAME_PARENT'],
    ],
  })
  t.deepEqual(judge(row(1), failure(2, {end: 'skipped', code: 'LOOKUP_MANY', question: asks})).rows, [], 'one that a person is asked about')
  t.deepEqual(judge(row(1), row(2, {isIn: false})), {rows: [], ends: [[1, 'skipped', 'ROWS_APART']], filtered: 0})
})

test('rows that are left out on purpose do not block the other rows of their parent', t => {
  const held = failure(2, {end: 'held'})
  const guarded = failure(3, {end: 'skipped', code: 'GUARDED'})
  t.deepEqual(judge(row(1), held, guarded), {rows: [1], ends: [[3, 'skipped', 'GUARDED']], filtered: 1})
  t.deepEqual(judge(row(1), failure(2, {end: 'held'}, {isIn: false})), {rows: [1], ends: [], filtered: 0})
})

test('a parent whose rows were all written by the chain is left unchanged, and one new row rewrites all of them', t => {
  const inherited = {inherited: '77'}
  t.deepEqual(judge(row(1, inherited), failure(2, {}, inherited), failure(3, {end: 'held'})), {
    rows: [],
    filtered: 1,
    ends: [
      [1, 'inherited', null],
      [2, 'inherited', null],
    ],
  })
  t.deepEqual(judge(row(1, inherited), row(2, {...inherited, isIn: false})).ends, [[1, 'inherited', null]])
  t.deepEqual(judge(row(1, inherited), row(2)).rows, [1, 2])
  t.deepEqual(judge(row(1, inherited), row(2, {inherited: '78'})).rows, [1, 2], 'written to another record')
})

test('rows that already ended get no second outcome', t => {
  const over = {isOver: true}
  t.deepEqual(judge(row(1, over), row(2, over), failure(3, {end: 'skipped', code: 'GUARDED'}, over)), {rows: [], ends: [], filtered: 0})
  t.deepEqual(judge(row(1, over), failure(2)).ends, [[2, 'failed', 'INVALID_VALUE']])
})

test('rows that were sent without an answer end as unanswered, not as failed', t => {
  const rows = [row(1).composed as ImportRow, lost(2)]
  const ends = endAll(rows, tooMany)
  t.deepEqual(
    ends.map(({outcome, code}) => [outcome, code]),
    [
      ['failed', 'BATCH_SIZE'],
      ['unanswered', 'BATCH_SIZE'],
    ],
  )
  t.regex(ends[1]!.message!, /may exist.*Too many$/)
  t.deepEqual(judge({...row(1), composed: lost(1)}, failure(2)).ends[1], [1, 'unanswered', 'ROW_OF_SAME_PARENT'])
})

test('a row that the run has written stays written if the rows of its record cannot be sent again', t => {
  const ended = (['updated', 'refused'] as const).map(counted => ({...(row(1).composed as ImportRow), attempt: 1, counted}))
  t.deepEqual(
    endAll([...ended, row(2).composed as ImportRow], tooMany).map(({row, outcome}) => [row.number, outcome]),
    [[2, 'failed']],
  )
})

import test from 'ava'
import type {ImportRow} from '../../../../workers/engine/model.ts'

import {type Group, type LostCreateCandidate, matchLostCreates} from '../../../../workers/engine/recover/match-lost-creates.ts'
import {field, row} from '../fixtures.ts'

const fields = [field('Name'), field('City')]
const one = (id: string, Name: string, City: string | null = null, holder: LostCreateCandidate['holder'] = null): LostCreateCandidate => ({
  record: {id, Name, City},
  madeAtMs: 0,
  holder,
})
const sent = (number: number, Name: string, City: string | null = null) => row(number, {payload: {Name, City}})
const keysOf = (rows: ImportRow[]) => rows.map(({key}) => key)

const always = {fromMs: 0, toMs: 0}
/** Matches lost creates. Returns the results by row number: record ids, or the kind of match. */
const judge = (groups: (Pick<Group, 'rows'> & Partial<Group>)[], candidates: LostCreateCandidate[]) => {
  const matches = matchLostCreates({
    fields,
    telling: ['Name'],
    candidates,
    groups: groups.map(({rows, keys = keysOf(rows), creates = new Map(), under = always}) => ({rows, keys, creates, under})),
  })
  return Object.fromEntries(
    [...matches].map(([{number}, match]) => [number, match.is === 'equal' ? [match.recordId, ...match.others].join('+') : match.is]),
  )
}

test('equal records are assigned to rows in file order, oldest record first, and the remaining rows get none', t => {
  const rows = [sent(1, 'a'), sent(2, 'a'), sent(3, 'a')]
  t.deepEqual(judge([{rows}], [one('10', 'a'), one('9', 'a')]), {1: '9', 2: '10', 3: 'none'})
})

test('a row sent twice can account for two records, and every row gets its first record before any gets a second', t => {
  const creates = new Map([['f.1', 2]])
  t.deepEqual(judge([{rows: [sent(1, 'a')], creates}], [one('1', 'a'), one('2', 'a')]), {1: '1+2'})
  t.deepEqual(judge([{rows: [sent(1, 'a'), sent(2, 'a')], creates}], [one('1', 'a'), one('2', 'a')]), {1: '1', 2: '2'})
  t.deepEqual(judge([{rows: [sent(1, 'a')], creates}], [one('1', 'a'), one('2', 'a'), one('3', 'a')]), {1: 'unclear'})
})

test('rows with the same payload that are not judged now keep their share of the records', t => {
  t.deepEqual(judge([{rows: [sent(3, 'a')], keys: ['f.1', 'f.3']}], [one('1', 'a')]), {3: 'none'})
  t.deepEqual(judge([{rows: [sent(3, 'a')], keys: ['f.1', 'f.3']}], [one('1', 'a'), one('2', 'a')]), {3: '2'})
})

test('all rows stay unclear when there are more equal records than rows', t => {
  t.deepEqual(judge([{rows: [sent(1, 'a'), sent(2, 'a')]}], [one('1', 'a'), one('2', 'a'), one('3', 'a')]), {1: 'unclear', 2: 'unclear'})
})

test('a record that another row created is never assigned, and one that another row only matched leaves the row unclear', t => {
  t.deepEqual(judge([{rows: [sent(1, 'a')]}], [one('1', 'a', null, 'made')]), {1: 'none'})
  t.deepEqual(judge([{rows: [sent(1, 'a')]}], [one('1', 'a', null, 'met')]), {1: 'unclear'})
})

test('a record that agrees in the identifying fields makes a row unclear, unless it is assigned to another row', t => {
  t.deepEqual(judge([{rows: [sent(1, 'a', 'x')]}], [one('1', 'a', 'y')]), {1: 'unclear'})
  t.deepEqual(judge([{rows: [sent(1, 'a', 'x')]}, {rows: [sent(2, 'a', 'y')]}], [one('1', 'a', 'y')]), {1: 'none', 2: '1'})
})

test('a record is assigned to the row that sent most of its values', t => {
  t.deepEqual(judge([{rows: [sent(1, 'a')]}, {rows: [sent(2, 'a', 'x')]}], [one('1', 'a', 'x'), one('2', 'a')]), {1: '2', 2: '1'})
})

test('records that could belong to several rows leave rows that sent fewer values unclear too', t => {
  const groups = [{rows: [sent(1, 'a', 'x')]}, {rows: [sent(2, 'a')]}]
  t.deepEqual(judge(groups, [one('1', 'a', 'x'), one('2', 'a', 'x')]), {1: 'unclear', 2: 'unclear'})
})

test('a record created before its row was sent or after its create expired is not assigned to the row', t => {
  const under = {fromMs: 10_000, toMs: 20_000}
  for (const [madeAtMs, expected] of [
    [6_999, 'none'],
    [7_000, '1'],
    [23_000, '1'],
    [23_001, 'none'],
  ] as const) {
    t.deepEqual(judge([{rows: [sent(1, 'a')], under}], [{...one('1', 'a'), madeAtMs}]), {1: expected})
    t.deepEqual(judge([{rows: [sent(1, 'a', 'x')], under}], [{...one('1', 'a'), madeAtMs}]), {1: expected === 'none' ? 'none' : 'unclear'})
  }
})

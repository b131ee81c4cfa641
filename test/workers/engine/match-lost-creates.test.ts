import test from 'ava'
import {type Candidate, type Group, matchLostCreates} from '../../../workers/engine/match-lost-creates.ts'
import type {Row} from '../../../workers/engine/row.ts'
import {field, row} from './making.ts'

const fields = [field('Name'), field('City')]
const one = (id: string, Name: string, City: string | null = null, holder: Candidate['holder'] = null): Candidate => ({
  record: {id, Name, City},
  madeAtMs: 0,
  holder,
})
const sent = (number: number, Name: string, City: string | null = null) => row(number, {payload: {Name, City}})
const keysOf = (rows: Row[]) => rows.map(({key}) => key)

const always = {fromMs: 0, toMs: 0}
/** By row number: the record, or what else came of it. */
const judge = (groups: (Pick<Group, 'rows'> & Partial<Group>)[], candidates: Candidate[]) => {
  const matches = matchLostCreates({
    ...{fields, telling: ['Name'], candidates},
    groups: groups.map(({rows, keys = keysOf(rows), creates = new Map(), under = always}) => ({rows, keys, creates, under})),
  })
  return Object.fromEntries(
    [...matches].map(([{number}, match]) => [number, match.is === 'equal' ? [match.recordId, ...match.others].join('+') : match.is]),
  )
}

test('equal records go to the rows in their order, the oldest first; the rows left have none', t => {
  const rows = [sent(1, 'a'), sent(2, 'a'), sent(3, 'a')]
  t.deepEqual(judge([{rows}], [one('10', 'a'), one('9', 'a')]), {1: '9', 2: '10', 3: 'none'})
})

test('a row that was sent twice accounts for two records; every row has its first before any has a second', t => {
  const creates = new Map([['f.1', 2]])
  t.deepEqual(judge([{rows: [sent(1, 'a')], creates}], [one('1', 'a'), one('2', 'a')]), {1: '1+2'})
  t.deepEqual(judge([{rows: [sent(1, 'a'), sent(2, 'a')], creates}], [one('1', 'a'), one('2', 'a')]), {1: '1', 2: '2'})
  t.deepEqual(judge([{rows: [sent(1, 'a')], creates}], [one('1', 'a'), one('2', 'a'), one('3', 'a')]), {1: 'unclear'})
})

test('rows of one payload that are not judged now keep their share', t => {
  t.deepEqual(judge([{rows: [sent(3, 'a')], keys: ['f.1', 'f.3']}], [one('1', 'a')]), {3: 'none'})
  t.deepEqual(judge([{rows: [sent(3, 'a')], keys: ['f.1', 'f.3']}], [one('1', 'a'), one('2', 'a')]), {3: '2'})
})

test('more equal records than rows: all stay unclear', t => {
  t.deepEqual(judge([{rows: [sent(1, 'a'), sent(2, 'a')]}], [one('1', 'a'), one('2', 'a'), one('3', 'a')]), {1: 'unclear', 2: 'unclear'})
})

test("a record of another row's is nobody else's; one that a row only met is not given away, and nothing is sent again", t => {
  t.deepEqual(judge([{rows: [sent(1, 'a')]}], [one('1', 'a', null, 'made')]), {1: 'none'})
  t.deepEqual(judge([{rows: [sent(1, 'a')]}], [one('1', 'a', null, 'met')]), {1: 'unclear'})
})

test("one that agrees in what tells it may have been changed; one that is given to a row is nobody's near", t => {
  t.deepEqual(judge([{rows: [sent(1, 'a', 'x')]}], [one('1', 'a', 'y')]), {1: 'unclear'})
  t.deepEqual(judge([{rows: [sent(1, 'a', 'x')]}, {rows: [sent(2, 'a', 'y')]}], [one('1', 'a', 'y')]), {1: 'none', 2: '1'})
})

test('a record goes to the row that sent most of it', t => {
  t.deepEqual(judge([{rows: [sent(1, 'a')]}, {rows: [sent(2, 'a', 'x')]}], [one('1', 'a', 'x'), one('2', 'a')]), {1: '2', 2: '1'})
})

test('records of which nobody can tell whose they are may be those of rows that sent less', t => {
  const groups = [{rows: [sent(1, 'a', 'x')]}, {rows: [sent(2, 'a')]}]
  t.deepEqual(judge(groups, [one('1', 'a', 'x'), one('2', 'a', 'x')]), {1: 'unclear', 2: 'unclear'})
})

test('a record made before a row was sent, or after its create was over, is not its own', t => {
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

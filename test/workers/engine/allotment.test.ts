import test from 'ava'
import {allot, type Candidate} from '../../../workers/engine/allotment.ts'
import type {Row} from '../../../workers/engine/row.ts'
import {field, row} from './making.ts'

const fields = [field('Name'), field('City')]
const one = (id: string, Name: string, City: string | null = null, holder: Candidate['holder'] = null): Candidate => ({
  record: {id, Name, City},
  holder,
})
const sent = (number: number, Name: string, City: string | null = null) => row(number, {payload: {Name, City}})
const keysOf = (rows: Row[]) => rows.map(({key}) => key)

/** By row number: the record, or what else came of it. */
const judge = (groups: {rows: Row[]; keys?: string[]}[], candidates: Candidate[]) => {
  const lots = allot({
    ...{fields, telling: ['Name'], candidates},
    groups: groups.map(({rows, keys = keysOf(rows)}) => ({rows, keys})),
  })
  return Object.fromEntries([...lots].map(([{number}, lot]) => [number, lot.is === 'equal' ? lot.recordId : lot.is]))
}

test('equal records go to the rows in their order, the oldest first; the rows left have none', t => {
  const rows = [sent(1, 'a'), sent(2, 'a'), sent(3, 'a')]
  t.deepEqual(judge([{rows}], [one('10', 'a'), one('9', 'a')]), {1: '9', 2: '10', 3: 'none'})
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

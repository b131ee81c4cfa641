import test from 'ava'
import {decideUndo, type UndoFacts} from '../../../../workers/engine/undo/decide-undo.ts'
import type {UndoRecord} from '../../../../workers/engine/undo/undo-source.ts'
import {compiledFlow, field} from '../fixtures.ts'

const undone = (more: Partial<UndoRecord>): UndoRecord => ({
  flow: compiledFlow([field('City'), field('Name')]),
  recordId: '7',
  effect: 'restore',
  rows: [],
  before: {City: 'Old', Name: 'Old Ltd'},
  sent: {City: 'New', Name: 'New Ltd'},
  sentEarlier: [],
  marks: undefined,
  isReturned: false,
  ...more,
})
const facts = (values: object, more: Partial<UndoFacts> = {}): UndoFacts => ({
  record: {id: '7', Modified_By: {id: 'ben', name: 'Ben'}, Modified_Time: '2026-01-02T08:00:00Z', ...values},
  writtenAt: null,
  user: 'lading',
  wasSent: false,
  isForced: false,
  canDelete: true,
  rowFields: [field('Product')],
  ...more,
})

test('a value that an earlier row of the run sent is restored if the CRM refused the value of the last row', t => {
  const record = undone({sentEarlier: [{City: 'Bern'}]})
  t.like(decideUndo(record, facts({City: 'Bern', Name: 'New Ltd'})), {do: 'restore', payload: {City: 'Old', Name: 'Old Ltd'}, kept: []})
  t.like(decideUndo(record, facts({City: 'Chur', Name: 'New Ltd'})), {do: 'restore', payload: {Name: 'Old Ltd'}, kept: [{field: 'City'}]})
})

test('an unanswered restore that took effect is done, although a person changed another field', t => {
  const read = {City: 'Old', Name: 'Mine'}
  t.like(decideUndo(undone({}), facts(read, {wasSent: true})), {do: 'done', code: 'RESTORED', kept: [{field: 'Name'}]})
  t.like(decideUndo(undone({}), facts(read)), {do: 'skip', code: 'CHANGED_SINCE'})
})

test('subform rows of an earlier write of the run are restored too', t => {
  const record = undone({
    effect: 'rows',
    before: {Lines: [{Product: 'Old'}]},
    sent: {Lines: [{Product: 'B'}]},
    sentEarlier: [{Lines: [{Product: 'A'}]}],
  })
  const lines = (Product: string) => facts({Lines: [{id: '1', Product}]})
  for (const product of ['A', 'B']) t.like(decideUndo(record, lines(product)), {do: 'replace', rows: [{Product: 'Old'}]})
  t.like(decideUndo(record, lines('C')), {do: 'skip', code: 'CHANGED_SINCE'})
})

test('a created record is kept if the destination cannot delete, even if the undo is forced', t => {
  const made = undone({effect: 'delete', before: {}, sent: {}})
  const values = {Modified_By: undefined, Modified_Time: undefined}
  for (const isForced of [false, true])
    t.like(decideUndo(made, facts(values, {canDelete: false, isForced})), {do: 'skip', code: 'UNDO_UNKNOWN'})
  t.like(decideUndo(made, {...facts({}, {canDelete: false}), record: undefined}), {do: 'skip', code: 'GONE'})
  t.deepEqual(decideUndo(made, facts(values, {isForced: true})), {do: 'delete', kept: []})
})

test('a change at a destination without users and times is described without them', t => {
  const plan = decideUndo(undone({}), facts({City: 'Mine', Name: 'Mine', Modified_By: undefined, Modified_Time: undefined}))
  t.like(plan, {code: 'CHANGED_SINCE', message: 'The values were kept: changed after the import'})
})

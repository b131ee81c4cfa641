import test from 'ava'
import {noAnswer} from '../../../../shared/crm/error.ts'
import {OUTCOMES} from '../../../../sql/run-log.ts'
import type {CompiledFlow} from '../../../../workers/engine/model.ts'
import {openLateUpdates} from '../../../../workers/engine/recover/late-updates.ts'
import {emptySettlement} from '../../../../workers/engine/settle/settler.ts'
import {judgeUndo, packRestoredMarks, type UndoRow} from '../../../../workers/engine/undo/undo-verdict.ts'
import {compiledFlow, field, row} from '../fixtures.ts'

const flow = compiledFlow([field('City'), field('Name')], {
  marks: {restore: (fields, older) => Buffer.from(`${fields} ${older}`)} as CompiledFlow['marks'] & object,
})
const undoRow = (effect: 'restore' | 'delete' | 'undelete'): UndoRow => ({
  ...row(1),
  no: 1,
  kept: [{field: 'Name', code: 'CHANGED_SINCE', message: ''}],
  undone: {
    flow,
    recordId: '7',
    effect,
    rows: [{key: 'f.1', number: 1, counted: null, flow: 1, module: 1}],
    before: {City: 'Old', Name: 'Old Ltd'},
    sent: {City: 'New', Name: 'New Ltd'},
    sentEarlier: [],
    marks: Buffer.from('older').toString('base64'),
    isReturned: false,
  },
})

test('the marks of restored fields are added to those of the record if the restore is not answered, and replace them otherwise', t => {
  const marked = (effect: 'restore' | 'delete', isAnswered: boolean) => {
    const settled = emptySettlement(1)
    const undo = undoRow(effect)
    const answer = isAnswered ? ({ok: true, recordId: '7'} as const) : ({ok: false, sent: true, crm: noAnswer, duplicateOf: null} as const)
    judgeUndo(
      {flow, settled, patienceMs: 0, lateUpdates: openLateUpdates(0)},
      {row: {...undo, marks: packRestoredMarks(undo)}, target: '7'},
      answer,
    )
    return settled.marked.map(({recordId, marks, isSure}) => [recordId, marks.toString(), isSure])
  }
  t.deepEqual(marked('restore', false), [['7', 'City older', false]])
  t.deepEqual(marked('restore', true), [['7', 'City older', true]])
  t.deepEqual(marked('delete', false), [])
})

test('a record is read again if the CRM refuses to take it out of the recycle bin after one unanswered restore', t => {
  const crm = {...noAnswer, unanswered: false, code: 'INVALID_DATA', status: 400}
  const settle = (unansweredSends: number) => {
    const settled = emptySettlement(1)
    const op = {row: {...undoRow('undelete'), unansweredSends, kept: []}, target: '7'}
    const batch = {flow, settled, patienceMs: 0, lateUpdates: openLateUpdates(0)}
    return [judgeUndo(batch, op, {ok: false, sent: true, crm, duplicateOf: null}), ...settled.log.map(({outcome}) => OUTCOMES[outcome])]
  }
  t.deepEqual([0, 1, 2].map(settle), [['end', 'refused'], ['again'], ['end', 'refused']])
})

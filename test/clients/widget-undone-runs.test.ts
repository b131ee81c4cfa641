import test from 'ava'
import {isPartial, isUndoActive, isUndone, type Run} from '../../api/clients/widget/runs/run.ts'
import {writtenBy} from '../../api/clients/widget/runs/tally.ts'
import {run} from './widget-samples.ts'

const at = '2026-03-01T08:00:00.000Z'
const ended = (id: string, more: Partial<Run> = {}) =>
  run({id, startedAt: at, endedAt: at, counts: {Accounts: {created: 2, updated: 1}}, ...more})
const cancelled = {stopped: 'CANCELLED', message: ''}
const first = ended('a')
const undo = ended('b', {undoOf: 'a'})
const undoOfUndo = ended('c', {undoOf: 'b'})

test('the rows that earlier runs wrote do not include dry runs, undos and runs that were undone', t => {
  t.is(writtenBy([first, ended('d', {dryRun: true})]), 3)
  t.is(writtenBy([undo, first]), 0)
  t.is(writtenBy([{...undo, stop: cancelled}, first]), 3, 'a stopped undo leaves rows')
  t.is(writtenBy([undoOfUndo, undo, first, ended('e')]), 6, 'the undo was undone, so the rows are there again')
  t.true(isUndone([undoOfUndo, undo, first], undo))
})

test('a dry run is partial if it stopped before the rows that a run may write', t => {
  t.true(isPartial({stop: cancelled}))
  t.false(isPartial({stop: {stopped: 'LIMIT_ROWS_PER_RUN', message: ''}}))
  t.false(isPartial({stop: null}))
})

test('an undo is in progress until it has ended, and an undo that the list of runs lacks has ended', t => {
  t.true(isUndoActive([{...undo, endedAt: null}, first], 'b'))
  t.false(isUndoActive([undo, first], 'b'))
  t.false(isUndoActive([first], 'b'))
})

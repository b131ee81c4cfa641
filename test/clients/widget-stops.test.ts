import test from 'ava'
import {type Run, sayCancelEffect} from '../../api/clients/widget/runs/run.ts'
import {whyOf} from '../../api/clients/widget/runs/why.ts'
import {makeCancelledStop} from '../../shared/runs/stop.ts'
import {run} from './widget-samples.ts'

const cancelled = (more: Partial<Run> = {}) => {
  const {undoOf = null, ...of} = run(more)
  const {stopped, message} = makeCancelledStop({...of, undoOf})
  return whyOf({...of, undoOf, stop: {stopped, message}})!
}

test('a stopped undo gives the advice to undo the run again, and never to retry', t => {
  t.like(cancelled({undoOf: 'run_0'}), {message: 'The run was cancelled. Undo the run again to continue', todo: ''})
  const failed = run({undoOf: 'run_0', stop: {stopped: 'ENGINE_FAILED', message: 'The run failed'}})
  t.is(whyOf(failed)!.todo, 'Undo the run again to continue.')
  const expired = run({undoOf: 'run_0', stop: {stopped: 'UNDO_EXPIRED', message: 'The values were deleted'}})
  t.is(whyOf(expired)!.todo, 'Correct the remaining records in the CRM.')
})

test('a stopped run that deletes records gives the advice to start a new run, because the widget does not retry it', t => {
  t.like(cancelled({deletes: true}), {message: 'The run was cancelled.', todo: 'A new run deletes the remaining records.'})
})

test('before a run is cancelled, only a run that can be retried promises a retry', t => {
  t.regex(sayCancelEffect(run()), /You can retry the run later/)
  t.regex(sayCancelEffect(run({dryRun: true, deletes: true})), /Nothing was written/)
  t.regex(sayCancelEffect(run({undoOf: 'run_0', deleted: 3})), /You can undo the run again later/)
  t.regex(sayCancelEffect(run({deletes: true})), /A new run deletes the remaining records/)
  t.regex(sayCancelEffect(run({engine: 'outside'})), /Start another run for the remaining rows/)
})

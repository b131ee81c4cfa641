import test from 'ava'
import type {CheckProblem} from '../../api/clients/widget/imports/import.ts'
import {expectRows} from '../../api/clients/widget/runs/expected-rows.ts'

const problem = (rows: number[], more: Partial<CheckProblem> = {}): CheckProblem => ({
  severity: 'error',
  kind: 'invalid_value',
  source: 'src_1',
  flow: 'f',
  module: 'Leads',
  field: 'Email',
  column: 'Mail',
  place: null,
  count: rows.length,
  rows,
  samples: [],
  message: '',
  fix: '',
  ...more,
})
const checked = (problems: CheckProblem[], {stale = false, nextCursor = null as string | null} = {}) => ({
  checks: {checks: {state: 'done', startedAt: 'x', endedAt: 'x', rows: 250, stale}, problems, nextCursor},
  runs: [],
})
const tried = (more: object = {}) => ({
  id: 'r',
  state: 'ended',
  dryRun: true,
  stop: null,
  stale: false,
  rows: null,
  retryOf: null,
  endedAt: 'x',
  authorisedAt: '',
  counts: {Leads: {planned: 129, failed: 121, skipped: 4}},
  ...more,
})

test('the start of a run says what an up-to-date dry run found', t => {
  const found = {ready: 129, attention: 121, skipped: 4, isExact: true}
  t.deepEqual(expectRows({...checked([]), runs: [tried()]}, 250), found)
  t.deepEqual(expectRows({checks: null, runs: [tried(), tried({dryRun: false})]}, 250), found, 'a run before the dry run')
  t.is(expectRows({checks: null, runs: [tried({dryRun: false}), tried()]}, 250), null, 'a later run may have written the rows')
  for (const outdated of [{stale: true}, {stale: null}, {rows: {from: 5}}, {stop: {stopped: 'CANCELLED'}}, {endedAt: null}])
    t.is(expectRows({checks: null, runs: [tried(outdated)]}, 250), null, JSON.stringify(outdated))
})

test('without a dry run, the check counts each row with errors once', t => {
  t.deepEqual(expectRows(checked([problem([1, 2]), problem([2, 3], {field: 'Phone'})]), 250), {
    ready: 247,
    attention: 3,
    skipped: 0,
    isExact: true,
  })
  t.like(expectRows(checked([problem([1]), problem([1], {flow: 'g'})]), 250), {attention: 2}, 'a row of another flow')
  t.like(expectRows(checked([]), 250), {ready: 250, attention: 0, isExact: true})
  t.like(expectRows(checked([problem([1], {severity: 'warning'})]), 250), {ready: 250, attention: 0})
})

test('a check that lists only a part of the rows gives a lower limit', t => {
  const many = problem(
    Array.from({length: 20}, (_, n) => n + 1),
    {count: 119},
  )
  t.like(expectRows(checked([many, problem([200])]), 250), {ready: 131, attention: 119, isExact: false})
  t.like(expectRows(checked([problem([1])], {nextCursor: 'more'}), 250), {attention: 1, isExact: false})
  const passed = problem([4], {severity: 'info', kind: 'filtered', field: null})
  t.like(expectRows(checked([passed]), 250), {ready: 250, isExact: false}, 'filtered rows are not imported either')
})

test('nothing is said from an outdated check, or if the import as a whole has an error', t => {
  t.is(expectRows(checked([], {stale: true}), 250), null)
  t.is(expectRows({checks: null, runs: []}, 250), null)
  t.is(expectRows(checked([problem([], {count: 1})]), 250), null)
})

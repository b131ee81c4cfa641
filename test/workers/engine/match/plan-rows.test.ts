import test from 'ava'
import fc from 'fast-check'
import type {Decision} from '../../../../sql/decisions.ts'
import {planStep as planRow} from '../../../../workers/engine/match/plan-rows.ts'
import type {ImportRow} from '../../../../workers/engine/model.ts'
import {field, row} from '../fixtures.ts'

/** Plans one row. `ours`: ids of records that rows of the retry chain wrote under the row's key. */
const plan = (one: ImportRow, compiled: Parameters<typeof planRow>[1], ours: string[], decision?: Decision) =>
  planRow(one, compiled, {records: ours, unanswered: []}, decision)

const flow = (onOne: 'update' | 'skip' | 'create', onMany: 'ask' | 'first' | 'skip' = 'ask') => ({onOne, onMany})

test('a row that matches no record is created, under every rule for matches', t => {
  for (const onOne of ['update', 'skip', 'create'] as const) t.deepEqual(plan(row(1), flow(onOne), []), {do: 'create'})
})

test('a row that matches one record updates it, skips it or creates another, as the flow says', t => {
  const one = row(1, {matches: ['7']})
  t.deepEqual(plan(one, flow('update'), []), {do: 'update', target: '7'})
  t.like(plan(one, flow('skip'), []), {do: 'skip', code: 'MATCH_ONE', recordId: '7'})
  t.deepEqual(plan(one, flow('create'), []), {do: 'create'})
})

test("the chain's own record and the same record found in the CRM count as one match", t => {
  t.deepEqual(plan(row(1, {matches: ['7']}), flow('update'), ['7']), {do: 'update', target: '7'})
})

test("a record that only the chain knows is matched, because the CRM's search may not list it yet", t => {
  t.deepEqual(plan(row(1), flow('update'), ['8']), {do: 'update', target: '8'})
})

test('a row with several matches is skipped unless the flow takes the first one', t => {
  const many = row(1, {matches: ['9', '7']})
  t.like(plan(many, flow('update', 'ask'), ['8']), {do: 'skip', code: 'MATCH_MANY', recordId: null})
  t.like(plan(many, flow('update', 'skip'), ['8']), {do: 'skip', code: 'MATCH_MANY', recordId: null})
  t.deepEqual(plan(many, flow('update', 'first'), ['8']), {do: 'update', target: '7'})
  t.like(plan(many, flow('skip', 'first'), ['8']), {do: 'skip', code: 'MATCH_ONE', recordId: '7'})
})

test('the first of several matches is the oldest record, which has the numerically smallest id', t => {
  t.like(plan(row(1, {matches: ['100', '99']}), flow('update', 'first'), []), {target: '99'})
})

test("a row waits for another row's unanswered create under its key, unless the CRM would refuse a second record", t => {
  const ours = {records: [], unanswered: [{key: 'f.1', number: 1}]}
  const byEmail = {...flow('update'), matchFields: [field('Email')]}
  t.like(planRow(row(2), byEmail, ours), {do: 'wait', code: 'KEY_UNANSWERED'})
  t.regex((planRow(row(2), byEmail, ours) as {message: string}).message, /^Row 1 /)
  t.deepEqual(planRow(row(1), byEmail, ours), {do: 'create'}, 'its own question does not hold it back')
  t.deepEqual(planRow(row(2, {matches: ['7']}), byEmail, ours), {do: 'update', target: '7'})
  t.deepEqual(planRow(row(2), {...byEmail, matchFields: [field('Email', {unique: true})]}, ours), {do: 'create'})
  t.deepEqual(planRow(row(2), {...byEmail, onOne: 'create'}, ours), {do: 'create'})
})

test('a row keeps the step that was already sent, because new matching would find its own lost record', t => {
  const decided = row(1, {matches: ['7', '8'], decided: {kind: 'create', target: null}})
  t.deepEqual(plan(decided, flow('skip'), ['9']), {do: 'create'})
  t.deepEqual(plan({...decided, decided: {kind: 'update', target: '5'}}, flow('skip'), ['9']), {do: 'update', target: '5'})
})

const decide = (choice: Decision['choice'], recordId: string | null = null): Decision => ({key: Buffer.from('k'), choice, recordId})

test("a person's decision about several matches is applied to the row", t => {
  const many = row(1, {matches: ['9', '7']})
  const planned = (decision: Decision, onOne: 'update' | 'skip' | 'create' = 'update') => plan(many, flow(onOne), ['8'], decision)
  t.deepEqual(planned(decide('record', '9')), {do: 'update', target: '9'})
  t.like(planned(decide('record', '9'), 'skip'), {do: 'skip', code: 'MATCH_ONE', recordId: '9', asks: null})
  t.deepEqual(planned(decide('first')), {do: 'update', target: '7'})
  t.deepEqual(planned(decide('create')), {do: 'create'})
  t.like(planned(decide('skip')), {do: 'skip', code: 'MATCH_SKIPPED', asks: null})
  t.like(plan(many, flow('update'), ['8']), {code: 'MATCH_MANY', asks: ['7', '8', '9']})
})

test('a row is asked about again if the chosen record no longer matches', t => {
  for (const matches of [['7', '9'], ['7'], []])
    t.like(plan(row(1, {matches}), flow('update'), [], decide('record', '8')), {do: 'skip', code: 'MATCH_MANY', asks: matches})
})

test('a decision about several matches does not affect a row that matches one record or none', t => {
  for (const choice of ['create', 'skip', 'first'] as const) {
    t.deepEqual(plan(row(1, {matches: ['7']}), flow('update'), [], decide(choice)), {do: 'update', target: '7'})
    t.deepEqual(plan(row(1), flow('update'), [], decide(choice)), {do: 'create'})
  }
})

test('a decision is not applied where the flow no longer asks about several matches', t => {
  const many = row(1, {matches: ['9', '7']})
  t.deepEqual(plan(many, flow('update', 'first'), [], decide('skip')), {do: 'update', target: '7'})
})

const ids = fc.array(fc.constantFrom('1', '2', '3'), {maxLength: 4})

test('the plan of a row does not depend on the origin or the order of the matched ids', t => {
  fc.assert(
    fc.property(
      ids,
      ids,
      fc.constantFrom('update', 'skip', 'create'),
      fc.constantFrom('ask', 'first', 'skip'),
      (found, ours, onOne, onMany) => {
        const there = plan(row(1, {matches: found}), {onOne, onMany}, ours)
        t.deepEqual(plan(row(1, {matches: ours.toReversed()}), {onOne, onMany}, found), there)
      },
    ),
  )
})

import test from 'ava'
import fc from 'fast-check'
import type {Decision} from '../../../sql/decisions.ts'
import {plan as planRow} from '../../../workers/engine/plan.ts'
import type {Row} from '../../../workers/engine/row.ts'
import {field, row} from './making.ts'

/** `ours`: records that rows of the chain wrote under the row's key. */
const plan = (one: Row, track: Parameters<typeof planRow>[1], ours: string[], decision?: Decision) =>
  planRow(one, track, {records: ours, unanswered: []}, decision)

const flow = (onOne: 'update' | 'skip' | 'create', onMany: 'ask' | 'first' | 'skip' = 'ask') => ({onOne, onMany})

test('a row that matches nothing is created, whatever the flow says of matches', t => {
  for (const onOne of ['update', 'skip', 'create'] as const) t.deepEqual(plan(row(1), flow(onOne), []), {do: 'create'})
})

test('a row that matches one record updates it, leaves it or makes another', t => {
  const one = row(1, {matches: ['7']})
  t.deepEqual(plan(one, flow('update'), []), {do: 'update', target: '7'})
  t.like(plan(one, flow('skip'), []), {do: 'skip', code: 'MATCH_ONE', recordId: '7'})
  t.deepEqual(plan(one, flow('create'), []), {do: 'create'})
})

test("the chain's own record and the CRM's answer are one match when they are one record", t => {
  t.deepEqual(plan(row(1, {matches: ['7']}), flow('update'), ['7']), {do: 'update', target: '7'})
})

test("a record only the chain knows of is matched: the CRM's search may not know it yet", t => {
  t.deepEqual(plan(row(1), flow('update'), ['8']), {do: 'update', target: '8'})
})

test('several matches are left alone unless the first is asked for', t => {
  const many = row(1, {matches: ['9', '7']})
  t.like(plan(many, flow('update', 'ask'), ['8']), {do: 'skip', code: 'MATCH_MANY', recordId: null})
  t.like(plan(many, flow('update', 'skip'), ['8']), {do: 'skip', code: 'MATCH_MANY', recordId: null})
  t.deepEqual(plan(many, flow('update', 'first'), ['8']), {do: 'update', target: '7'})
  t.like(plan(many, flow('skip', 'first'), ['8']), {do: 'skip', code: 'MATCH_ONE', recordId: '7'})
})

test('the first of several is the oldest: ids are numbers, and grow', t => {
  t.like(plan(row(1, {matches: ['100', '99']}), flow('update', 'first'), []), {target: '99'})
})

test("a row is not created while another row's create under its key is unanswered, unless the CRM would refuse a second record", t => {
  const ours = {records: [], unanswered: [{key: 'f.1', number: 1}]}
  const byEmail = {...flow('update'), matchFields: [field('Email')]}
  t.like(planRow(row(2), byEmail, ours), {do: 'wait', code: 'KEY_UNANSWERED'})
  t.regex((planRow(row(2), byEmail, ours) as {message: string}).message, /^Row 1 /)
  t.deepEqual(planRow(row(1), byEmail, ours), {do: 'create'}, 'its own question does not hold it back')
  t.deepEqual(planRow(row(2, {matches: ['7']}), byEmail, ours), {do: 'update', target: '7'})
  t.deepEqual(planRow(row(2), {...byEmail, matchFields: [field('Email', {unique: true})]}, ours), {do: 'create'})
  t.deepEqual(planRow(row(2), {...byEmail, onOne: 'create'}, ours), {do: 'create'})
})

test('a step already sent is kept, whatever matches now: matched again, a lost create would find its own record', t => {
  const decided = row(1, {matches: ['7', '8'], decided: {kind: 'create', target: null}})
  t.deepEqual(plan(decided, flow('skip'), ['9']), {do: 'create'})
  t.deepEqual(plan({...decided, decided: {kind: 'update', target: '5'}}, flow('skip'), ['9']), {do: 'update', target: '5'})
})

const decide = (choice: Decision['choice'], recordId: string | null = null): Decision => ({key: Buffer.from('k'), choice, recordId})

test('what a person chose is done in place of asking', t => {
  const many = row(1, {matches: ['9', '7']})
  const planned = (decision: Decision, onOne: 'update' | 'skip' | 'create' = 'update') => plan(many, flow(onOne), ['8'], decision)
  t.deepEqual(planned(decide('record', '9')), {do: 'update', target: '9'})
  t.like(planned(decide('record', '9'), 'skip'), {do: 'skip', code: 'MATCH_ONE', recordId: '9', asks: null})
  t.deepEqual(planned(decide('first')), {do: 'update', target: '7'})
  t.deepEqual(planned(decide('create')), {do: 'create'})
  t.like(planned(decide('skip')), {do: 'skip', code: 'MATCH_SKIPPED', asks: null})
  t.like(plan(many, flow('update'), ['8']), {code: 'MATCH_MANY', asks: ['7', '8', '9']})
})

test('a chosen record that matches no more is asked about again, whatever matches now', t => {
  for (const matches of [['7', '9'], ['7'], []])
    t.like(plan(row(1, {matches}), flow('update'), [], decide('record', '8')), {do: 'skip', code: 'MATCH_MANY', asks: matches})
})

test('a choice between several says nothing of a row that matches one record or none', t => {
  for (const choice of ['create', 'skip', 'first'] as const) {
    t.deepEqual(plan(row(1, {matches: ['7']}), flow('update'), [], decide(choice)), {do: 'update', target: '7'})
    t.deepEqual(plan(row(1), flow('update'), [], decide(choice)), {do: 'create'})
  }
})

test('where nobody is asked, what was decided while somebody was is not applied', t => {
  const many = row(1, {matches: ['9', '7']})
  t.deepEqual(plan(many, flow('update', 'first'), [], decide('skip')), {do: 'update', target: '7'})
})

const ids = fc.array(fc.constantFrom('1', '2', '3'), {maxLength: 4})

test('where the ids come from, and in what order, changes nothing', t => {
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

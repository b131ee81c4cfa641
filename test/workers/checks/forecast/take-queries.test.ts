import test from 'ava'
import {takeQueriesOf} from '../../../../workers/checks/forecast/forecast.ts'
import {type PlannedFlow, planCalls, type RunFacts} from '../../../../workers/checks/forecast/plan-calls.ts'

const flow = {no: 1, module: {no: 1, fields: []}, uniqueFields: [], matchFields: [{apiName: 'Email'}], onOne: 'update', mappings: []}
const facts = {snapshot: {lookups: [], flows: []}, stores: false, isRecent: false, columns: 48, fieldsPerRead: 50} as unknown as RunFacts

/** Plans the queries of a flow with 9,000 rows after a dry run that needed no control: 18 queries of two credits each. */
const planAfterDryRun = (creates: number) => {
  const tally = {
    rows: 9_000,
    keyed: 9_000,
    repeated: 0,
    mayEnd: 0,
    longTexts: 0,
    queries: 18,
    queryCredits: 36,
    parents: 0,
    lookups: new Map(),
  }
  const steps = {creates, updates: 9_000 - creates, refused: 0}
  const flows = [{flow, tally, steps, written: {min: 9_000, max: 9_000}, patch: null, tags: false}] as unknown as PlannedFlow[]
  const plan = planCalls(flows, facts)
  takeQueriesOf(plan, {isDryRun: true, cost: {query: {calls: 18, credits: 36}}, match: 'query', flows}, 'query')
  return plan.get('query')
}

test('after a dry run, a forecast includes the control calls of all queries that can be in flight before a control is found', t => {
  const [control, repeated] = [2, 10]
  t.deepEqual(planAfterDryRun(4_500), {
    calls: {min: 18, max: 18 + control + repeated},
    credits: {min: 36, max: 36 + control + 2 * repeated},
  })
  t.deepEqual(planAfterDryRun(0), {calls: {min: 18, max: 18}, credits: {min: 36, max: 36}}, 'every query finds records')
})

import test from 'ava'
import {type PlannedFlow, planCalls, type RunFacts} from '../../../../workers/checks/forecast/plan-calls.ts'
import {priceVerification} from '../../../../workers/checks/forecast/verify-cost.ts'

const facts = {snapshot: {lookups: [], flows: []}, stores: true, isRecent: false, columns: 48, fieldsPerRead: 50} as unknown as RunFacts
const module = {no: 1, fields: []}
const flow = {no: 1, module, uniqueFields: [], matchFields: [{apiName: 'Code'}], onOne: 'update', mappings: [], comparedFields: null}
const tally = {rows: 1_000, keyed: 1_000, repeated: 0, mayEnd: 0, longTexts: 0, queries: 1, queryCredits: 1, parents: 0, lookups: new Map()}
const rule = {hows: new Set([1, 2, 3, 5]), onlyAbsent: false}
const patchFlow = {...flow, edits: null, patchPlan: {rules: new Map([['Phone', rule]]), parent: null}}

const planOf = (planned: object, tallied: object = {}) =>
  ({
    flow,
    tally: {...tally, ...tallied},
    steps: null,
    written: {min: 1_000, max: 1_000},
    patch: null,
    tags: false,
    ...planned,
  }) as unknown as PlannedFlow
const credits = (plan: ReturnType<typeof planCalls>, kind: string) => plan.get(kind)!.credits

test('reading rows back may take one more call for each record with a long text, patched records included', t => {
  const patch = {flow: patchFlow, tally: {...tally, longTexts: 30}}
  t.deepEqual(priceVerification([planOf({})], facts), {min: 10, max: 11})
  t.deepEqual(priceVerification([planOf({}, {longTexts: 400})], facts), {min: 10, max: 411})
  t.deepEqual(priceVerification([planOf({patch}, {longTexts: 400})], facts), {min: 10, max: 411 + 41})
})

test('reading rows back costs nothing for subform rows and deletes', t => {
  for (const other of [{subform: {}}, {deletes: true}])
    t.deepEqual(priceVerification([planOf({flow: {...flow, ...other}}, {parents: 500})], facts), {min: 0, max: 0})
})

test('the forecast of tags ranges from one call for all rows of a record to one call for each row', t => {
  const tagged = (tallied: object, more: object = {}) => credits(planCalls([planOf({tags: true, ...more}, tallied)], facts), 'tag')
  t.deepEqual(tagged({}), {min: 20, max: 20})
  t.deepEqual(tagged({repeated: 999}), {min: 1, max: 20 + 999})
  t.deepEqual(tagged({repeated: 999}, {flow: {...flow, onOne: 'create'}}), {min: 20, max: 20}, 'each row has a record')
})

test('the forecast of patches adds a call for each row that may share its record with an earlier row', t => {
  const patched = (repeated: number) => {
    const alone = planCalls([planOf({}, {repeated})], facts)
    const plan = planCalls([planOf({patch: {flow: patchFlow, tally}}, {repeated})], facts)
    return ['update', 'read'].map(kind => credits(plan, kind).max - (alone.get(kind)?.credits.max ?? 0))
  }
  t.deepEqual(patched(0), [101, 10])
  t.deepEqual(patched(999), [101 + 999, 10 + 999])
})

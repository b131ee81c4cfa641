import test from 'ava'
import fc from 'fast-check'
import {type MatchColumn, type MatchField, proposeMapping} from '../../../shared/assistant/matcher/propose.ts'
import {fieldsOf, readTables} from '../../evaluation/evaluate.ts'

const real = [...readTables('development.json'), ...readTables('labels.json')].flatMap(({columns}) => Object.keys(columns))
const hostile = [
  '',
  ' ',
  '\u0000\u0001\u0007',
  '\u202egnippihs\u202c',
  'שם פרטי',
  'الاسم',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '$&$1',
  '((((((((((',
  '🧾🧾',
  '\ud800',
  'e\u0301'.repeat(500),
  '1'.repeat(300),
  'NaN',
]

const name = fc.oneof(fc.constantFrom(...real), fc.constantFrom(...hostile), fc.string({unit: 'binary', maxLength: 60}))
const column: fc.Arbitrary<MatchColumn> = fc.record(
  {name, samples: fc.array(fc.string({unit: 'binary', maxLength: 30}), {maxLength: 6})},
  {requiredKeys: ['name']},
)
const modules = ['Leads', 'Contacts', 'Accounts', 'Deals', 'Products', 'Sales_Orders'].map(fieldsOf)
const made: fc.Arbitrary<MatchField> = fc.record({
  apiName: fc.oneof(fc.constantFrom(...hostile), fc.string({maxLength: 12})),
  label: name,
  dataType: fc.constantFrom('text', 'email', 'phone', 'picklist', 'formula', 'date', 'made_up'),
  readOnly: fc.boolean(),
  picklist: fc.array(fc.record({display: fc.string(), actual: fc.string()}), {maxLength: 3}),
})
const fields = fc.oneof(fc.constantFrom(...modules), fc.uniqueArray(made, {maxLength: 12, selector: ({apiName}) => apiName}))
const asked = fc.record({columns: fc.array(column, {maxLength: 15}), fields})

test('each column has at most one writable field, a confidence from 0 to 1 and up to three candidates', t => {
  fc.assert(
    fc.property(asked, ({columns, fields: given}) => {
      const found = proposeMapping({columns, fields: given})
      t.deepEqual(
        found.map(one => one.column),
        columns.map(one => one.name),
      )
      const taken = found.flatMap(({field}) => (field === null ? [] : [field]))
      t.is(new Set(taken).size, taken.length)
      for (const {field, confidence, candidates} of found) {
        t.true(confidence >= 0 && confidence <= 1 && (field === null) === confidence < 0.5)
        t.true(candidates.length <= 3)
        if (field !== null) t.is(candidates[0]?.field, field)
        for (const candidate of candidates) {
          t.true(candidate.confidence >= 0 && candidate.confidence <= 1)
          t.true(given.some(({apiName, readOnly}) => apiName === candidate.field && readOnly !== true))
          t.true(candidate.why.length > 0)
        }
      }
    }),
    {numRuns: 250},
  )
})

test('the same input gives the same proposals, whatever was matched before', t => {
  fc.assert(
    fc.property(asked, asked, (one, other) => {
      const first = JSON.stringify(proposeMapping(one))
      proposeMapping(other)
      t.is(JSON.stringify(proposeMapping(structuredClone(one))), first)
    }),
    {numRuns: 60},
  )
})

test('column names of 100 kB and of any characters are matched in bounded time', t => {
  const columns = [...hostile, 'billing '.repeat(12_500), `${'('.repeat(50_000)}x`, 'ß'.repeat(100_000), 'straße'.repeat(20_000)]
  const long = columns.map(text => ({name: text, samples: ['x'.repeat(100_000), '@'.repeat(100_000), '1.'.repeat(50_000)]}))
  const begun = performance.now()
  const found = proposeMapping({columns: long, fields: fieldsOf('Accounts')})
  t.is(found.length, columns.length)
  // A generous limit for a busy machine: linear time takes some tens of milliseconds, quadratic time takes minutes.
  t.true(performance.now() - begun < 15_000)
})

test('field names cannot reach a prototype', t => {
  const given = [{apiName: '__proto__', label: 'constructor', dataType: 'text'}]
  const [found] = proposeMapping({columns: [{name: '__proto__'}], fields: given})
  t.is(found!.field, '__proto__')
  t.is(({} as Record<string, unknown>).label, undefined)
})

import test from 'ava'
import {accounts, type Org, openOrg, runImport, undoRun} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

/**
 * A type of field with three values: `before` the import, in the file (`cell`), and `edited` by a person later. `isFilled`: the CRM never shows
 * the field empty.
 */
type TypedField = {
  field: string
  spec: {type: string; [more: string]: unknown}
  before: unknown
  cell: string
  edited: unknown
  isFilled?: true
}

const options = ['Red', 'Green', 'Blue']
const long = (word: string) => `${word} `.repeat(200).trim()

const plainFields: TypedField[] = [
  {field: 'A_Text', spec: {type: 'text'}, before: 'old', cell: 'new', edited: 'mine'},
  {field: 'A_Note', spec: {type: 'textarea'}, before: 'old\nnote', cell: 'new note', edited: 'my\nnote'},
  {
    field: 'A_Story',
    spec: {type: 'textarea', length: 50_000, rich: true},
    before: long('older'),
    cell: long('newer'),
    edited: long('mine'),
  },
  {field: 'A_Phone', spec: {type: 'phone'}, before: '+41 1', cell: '+41 2', edited: '+41 3'},
  {field: 'A_Mail', spec: {type: 'email'}, before: 'old@x.example', cell: 'new@x.example', edited: 'mine@x.example'},
  {field: 'A_Site', spec: {type: 'website'}, before: 'https://old.example', cell: 'https://new.example', edited: 'https://mine.example'},
  {field: 'A_Pick', spec: {type: 'picklist', options}, before: 'Red', cell: 'Green', edited: 'Blue'},
  {field: 'A_Multi', spec: {type: 'multiselectpicklist', options}, before: ['Red', 'Green'], cell: 'Green;Blue', edited: ['Blue']},
  {field: 'A_Flag', spec: {type: 'boolean'}, before: false, cell: 'true', edited: false, isFilled: true},
  {field: 'An_Integer', spec: {type: 'integer'}, before: 0, cell: '7', edited: 8},
  {field: 'A_Bigint', spec: {type: 'bigint'}, before: '900719925474099301', cell: '900719925474099302', edited: '900719925474099303'},
  {field: 'A_Double', spec: {type: 'double', decimals: 3}, before: 1.125, cell: '2.25', edited: 3.5},
  {field: 'A_Percent', spec: {type: 'percent'}, before: 10.5, cell: '20.5', edited: 30},
  {field: 'A_Currency', spec: {type: 'currency'}, before: 99.99, cell: '100.01', edited: 5},
  {field: 'A_Date', spec: {type: 'date'}, before: '2024-02-29', cell: '2025-03-01', edited: '2026-01-01'},
  {
    field: 'A_Moment',
    spec: {type: 'datetime'},
    before: '2024-02-29T10:00:00+01:00',
    cell: '2025-03-01T05:06:07Z',
    edited: '2026-01-01T00:00:00Z',
  },
]

let here: TestDeployment
let org: Org
let fields: TypedField[]

/** Returns all fields to test. Creates three accounts and three users as targets of the link fields. */
const listFields = (): TypedField[] => {
  const accountIds = [1, 2, 3].map(n => here.crm.create('example', 'Accounts', [{Account_Name: `Parent ${n}`}])[0]!.details.id as string)
  const users = [1, 2, 3].map(n => here.crm.addUser('example', {email: `user${n}@example.org`, name: `User ${n}`} as never).id)
  const link = (field: string, spec: TypedField['spec'], [a, b, c]: string[], more: object = {}): TypedField => ({
    field,
    spec,
    before: {id: a},
    cell: b!,
    edited: {id: c},
    ...more,
  })
  return [
    ...plainFields,
    link('A_Link', {type: 'lookup', lookup: 'Accounts'}, accountIds),
    link('A_User', {type: 'userlookup'}, users),
    link('Owner', {type: 'ownerlookup'}, users, {isFilled: true}),
  ]
}

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery', 'imports'], environment: {CRM_TIMEOUT_SECONDS: '5', CRM_LAG_SECONDS: '1'}})
  fields = listFields()
  for (const {field, spec} of fields) if (field !== 'Owner') here.crm.addField('example', 'Accounts', {name: field, ...spec} as never)
  org = await openOrg(here)
})

const make = (number: string, values: object) =>
  here.crm.create('example', 'Accounts', [{Account_Name: number, Account_Number: number, ...values}], {as: 'ana@example.org'})
const recordOf = (number: string) => here.crm.records('example', 'Accounts').find(({Account_Number: one}) => one === number)
const edit = (number: string, values: object) =>
  here.crm.update('example', 'Accounts', [{id: recordOf(number)!.id, ...values}], {as: 'ben@example.org'})
const valuesOf = (number: string) => {
  const record = recordOf(number)!
  return Object.fromEntries(fields.map(({field}) => [field, record[field] ?? null]))
}
const olds = () => Object.fromEntries(fields.map(({field, before}) => [field, before]))
const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`

const importRows = (numbers: string[], {cellOf = ({cell}: TypedField) => cell, flow = {}} = {}) => {
  const csv = [
    `name,number,${fields.map(({field}) => field).join(',')}`,
    ...numbers.map(number => `${number},${number},${fields.map(one => quoted(cellOf(one))).join(',')}`),
  ].join('\n')
  const mapped = fields.map(({field, isFilled}) => ({field, mode: 'column', source: field, empty: isFilled ? 'leave' : 'clear'}))
  return runImport(org, {csv: `${csv}\n`, flow: {...accounts, ...flow, fields: [...accounts.fields.slice(0, 2), ...mapped]}})
}

const undo = async (imported: Awaited<ReturnType<typeof runImport>>) => {
  const {run, log} = await undoRun(org, imported)
  const codes = Object.fromEntries(log.filter(({phase}) => phase === 'write').map(({rowNumber, code}) => [rowNumber, code]))
  return {run, log, codes}
}

/** Checks for each way to change a record what the undo must leave. */
test.serial('for each type of field: replaced values return, unchanged ones are left, and edited ones are kept', async t => {
  const filled = ['F-untouched', 'F-back', 'F-edited', ...fields.map(({field}) => `F-${field}`)]
  for (const number of filled) make(number, olds())
  make('F-empty', {Owner: olds().Owner})
  const numbers = [...filled, 'F-empty']
  const before = new Map(numbers.map(number => [number, valuesOf(number)]))
  const imported = await importRows(numbers)
  t.like(imported.run.counts.Accounts, {updated: numbers.length, refused: 0, failed: 0})
  for (const {field} of fields) t.notDeepEqual(valuesOf('F-untouched')[field], before.get('F-untouched')![field], field)
  here.crm.clock.advance(60_000)
  const edits = Object.fromEntries(fields.map(({field, edited}) => [field, edited]))
  edit('F-back', olds())
  edit('F-edited', edits)
  const mine = valuesOf('F-edited')
  for (const {field, edited} of fields) edit(`F-${field}`, {[field]: edited})
  const {run, log, codes} = await undo(imported)
  t.like(run, {stop: null, counts: {Accounts: {refused: 0, unanswered: 0}}})
  for (const number of ['F-untouched', 'F-back', 'F-empty']) t.deepEqual(valuesOf(number), before.get(number), number)
  // A checkbox has only two values, so the edit restored the value from before the import.
  t.deepEqual(valuesOf('F-edited'), {...mine, A_Flag: before.get('F-edited')!.A_Flag})
  for (const {field} of fields)
    t.deepEqual(
      valuesOf(`F-${field}`),
      {...before.get(`F-${field}`), [field]: mine[field]},
      `an edit of ${field} is kept, and nothing else`,
    )
  t.deepEqual([codes[1], codes[2], codes[3], codes[numbers.length]], ['RESTORED', 'UNCHANGED', 'CHANGED_SINCE', 'RESTORED'])
  const kept = log.filter(({phase, code}) => phase === 'edit' && code === 'CHANGED_SINCE')
  for (const {field} of fields.filter(({field: one}) => one !== 'A_Flag'))
    t.true(
      kept.some(({target, rowKey}) => target === field && rowKey.endsWith(`.${numbers.indexOf(`F-${field}`) + 1}`)),
      field,
    )
})

test.serial('for each type of field: values that the import cleared return', async t => {
  make('G-1', olds())
  const before = valuesOf('G-1')
  const imported = await importRows(['G-1'], {cellOf: ({isFilled, cell}) => (isFilled ? cell : '')})
  for (const {field, isFilled} of fields)
    if (!isFilled) t.true([null, ''].includes(valuesOf('G-1')[field] as null) || isEmpty(valuesOf('G-1')[field]), field)
  t.is((await undo(imported)).codes[1], 'RESTORED')
  t.deepEqual(valuesOf('G-1'), before)
})

const isEmpty = (value: unknown) => Array.isArray(value) && value.length === 0

test.serial('created records are deleted, those with an edit of any type of field are kept, and gone ones are left', async t => {
  const numbers = ['H-untouched', 'H-gone', ...fields.map(({field}) => `H-${field}`)]
  const imported = await importRows(numbers)
  t.is(imported.run.counts.Accounts.created, numbers.length)
  here.crm.clock.advance(60_000)
  here.crm.remove('example', 'Accounts', [recordOf('H-gone')!.id])
  for (const {field, edited} of fields) edit(`H-${field}`, {[field]: edited})
  const before = new Map(fields.map(({field}) => [field, valuesOf(`H-${field}`)]))
  const {codes} = await undo(imported)
  t.deepEqual([codes[1], codes[2]], ['DELETED', 'GONE'])
  for (const [at, {field}] of fields.entries()) {
    t.is(codes[at + 3], 'CHANGED_SINCE', field)
    t.deepEqual(valuesOf(`H-${field}`), before.get(field), field)
  }
  t.is(recordOf('H-untouched'), undefined)
})

test.serial('a restore that the CRM refuses is reported as refused, and the record stays as the run left it', async t => {
  make('I-1', {A_Text: 'old'})
  const imported = await importRows(['I-1'])
  const left = valuesOf('I-1')
  const body = {data: [{code: 'NOT_APPROVED', status: 'error', message: 'record not approved', details: {}}]}
  here.crm.faults.add({match: {method: 'PUT', path: '/crm/v8/Accounts'}, times: 2, action: {type: 'answer', status: 400, body}})
  const {run, codes} = await undo(imported)
  here.crm.faults.clear()
  t.like(run.counts.Accounts, {refused: 1, updated: 0})
  t.is(codes[1], 'NOT_APPROVED')
  t.deepEqual(valuesOf('I-1'), left)
})

test.serial('a create that was never answered is left and reported', async t => {
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 1, action: 'dropAfter'})
  const refusal = {type: 'answer', status: 403, body: {code: 'NO_PERMISSION', status: 'error'}} as const
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/coql', share: 1}, times: 10, action: refusal})
  here.crm.faults.add({match: {method: 'GET', path: '/crm/v8/Accounts'}, times: 10, action: refusal})
  const {match: _, ...creating} = accounts
  const imported = await runImport(org, {
    csv: 'name,city\nJ only,Bern\n',
    flow: {...creating, fields: [accounts.fields[0]!, accounts.fields[2]!]},
  })
  here.crm.faults.clear()
  t.is(imported.run.counts.Accounts.unanswered, 1)
  const {codes, run} = await undo(imported)
  t.like(run.undo, {restored: 0, deleted: 0, changedSince: 0})
  t.is(codes[1], 'UNDO_UNKNOWN')
  t.is(here.crm.records('example', 'Accounts').filter(({Account_Name: name}) => name === 'J only').length, 1)
})

test.serial('a create that was not answered, and then refused, is left and reported', async t => {
  const [path, method] = ['/crm/v8/Accounts', 'POST']
  const body = {data: [{code: 'INVALID_DATA', status: 'error', message: 'invalid data', details: {api_name: 'Account_Name'}}]}
  here.crm.faults.add({match: {method, path}, times: 1, action: 'dropAfter'})
  const {match: _, ...creating} = accounts
  const refuse = () => here.crm.faults.add({match: {method, path}, times: 1, action: {type: 'answer', status: 400, body}})
  refuse()
  const imported = await runImport(org, {csv: 'name,number,city\nK,K-1,Bern\n', flow: creating})
  here.crm.faults.clear()
  t.is(imported.run.counts.Accounts.refused + imported.run.counts.Accounts.unanswered, 1)
  t.is((await undo(imported)).codes[1], 'UNDO_UNKNOWN')
})

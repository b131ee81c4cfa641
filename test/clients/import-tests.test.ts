import {cpSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import test from 'ava'
import {runSuite} from '../../api/clients/cli/import-tests/run-suite.ts'
import {startTestStack} from '../../api/clients/cli/import-tests/stack.ts'
import {readSuites} from '../../api/clients/cli/import-tests/suite.ts'
import {openHome} from '../support/cli-process.ts'
import {endAfterTests} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

const examples = fileURLToPath(new URL('../../examples', import.meta.url))
const folder = join(examples, 'import-tests')
type Change = (find: (module: string, field?: string) => any, modules: any[]) => void

const optionGone =
  (module: string, name: string, option: string): Change =>
  find => {
    const field = find(module, name)
    field.picklist = field.picklist.filter(({actual}: any) => actual !== option)
  }
const renamed =
  (module: string, name: string, to: string): Change =>
  find =>
    void (find(module, name).apiName = to)
const set =
  (module: string, name: string, values: object): Change =>
  find =>
    void Object.assign(find(module, name), values)
const setModule =
  (module: string, values: object): Change =>
  find =>
    void Object.assign(find(module), values)
const fieldGone =
  (module: string, name: string): Change =>
  find => {
    const found = find(module)
    found.fields = found.fields.filter(({apiName}: any) => apiName !== name)
  }
const moduleGone =
  (module: string): Change =>
  (_, modules) =>
    void modules.splice(
      modules.findIndex(({apiName}) => apiName === module),
      1,
    )

/** Each change of the discovery, the template whose cases notice it, and the field or module that a difference names. */
const changes: [what: string, template: string, named: string, change: Change][] = [
  ['a field is renamed', 'Companies', 'Phone', renamed('Accounts', 'Phone', 'Phone_1')],
  ['a field is gone', 'Companies', 'Website', fieldGone('Accounts', 'Website')],
  ['a match field is gone', 'Companies', 'Account_Number', fieldGone('Accounts', 'Account_Number')],
  ['a number becomes a date', 'Companies', 'Employees', set('Accounts', 'Employees', {type: 'date', jsonType: 'string'})],
  [
    'a currency becomes a yes or no',
    'Companies',
    'Annual_Revenue',
    set('Accounts', 'Annual_Revenue', {type: 'boolean', jsonType: 'boolean'}),
  ],
  ['an option of a picklist is gone', 'Companies', 'Industry', optionGone('Accounts', 'Industry', 'Retail')],
  ['a field that the file lacks is made mandatory', 'Companies', 'Description', set('Accounts', 'Description', {required: true})],
  ['a field is made unique', 'Companies', 'Phone', set('Accounts', 'Phone', {unique: {caseSensitive: false}})],
  [
    'a field is made read-only',
    'Companies',
    'Billing_City',
    set('Accounts', 'Billing_City', {readOnly: true, creatable: false, updatable: false}),
  ],
  ['a field can no longer be updated', 'Companies', 'Employees', set('Accounts', 'Employees', {updatable: false})],
  ['a text becomes shorter', 'Companies', 'Account_Name', set('Accounts', 'Account_Name', {length: 10})],
  ['a module is gone', 'Companies', 'Accounts', moduleGone('Accounts')],
  ['a module accepts no records', 'Companies', 'Accounts', setModule('Accounts', {creatable: false})],
  ['a lookup leads elsewhere', 'Contacts of companies', 'Account_Name', set('Contacts', 'Account_Name', {lookup: {module: 'Leads'}})],
  [
    'a date becomes a number',
    'Contacts of companies',
    'Date_of_Birth',
    set('Contacts', 'Date_of_Birth', {type: 'integer', jsonType: 'integer'}),
  ],
  ['an option of another picklist is gone', 'Contacts of companies', 'Lead_Source', optionGone('Contacts', 'Lead_Source', 'Partner')],
  ['a field that some rows leave empty is made mandatory', 'Contacts of companies', 'Mobile', set('Contacts', 'Mobile', {required: true})],
  ['a mandatory field is gone', 'Contacts of companies', 'Last_Name', fieldGone('Contacts', 'Last_Name')],
  ['an option of a value map is renamed', 'Leads of the fair', 'Lead_Status', optionGone('Leads', 'Lead_Status', 'Contacted')],
  ['a shared value is made unique', 'Leads of the fair', 'Email', set('Leads', 'Email', {unique: {caseSensitive: false}})],
  [
    'a number is made read-only',
    'Leads of the fair',
    'No_of_Employees',
    set('Leads', 'No_of_Employees', {readOnly: true, creatable: false, updatable: false}),
  ],
  ['a static value is no option any more', 'Leads of the fair', 'Lead_Source', optionGone('Leads', 'Lead_Source', 'Trade Show')],
]

test.serial('each of 22 changes of the CRM fails a case, and a difference names the field', async t => {
  t.timeout(600_000)
  const [suite] = await readSuites(folder)
  const stack = await startTestStack(tmpdir(), new AbortController().signal)
  endAfterTests(stack.stop)
  for (const [what, template, named, change] of changes) {
    const changed = structuredClone(suite!)
    changed.cases = changed.cases.filter(one => one.template === template).slice(0, 1)
    const {modules} = changed.connections[0]
    const find = (module: string, field?: string) => {
      const found = modules.find(({apiName}: any) => apiName === module)
      return field === undefined ? found : found.fields.find(({apiName}: any) => apiName === field)
    }
    change(find, modules)
    const [result] = await Array.fromAsync(runSuite(stack, changed))
    t.false(result!.passed, what)
    const names = result!.differences.map(({module, field, message}) => `${module} ${field} ${message}`)
    t.true(
      names.some(text => text.includes(named)),
      `${what}: ${JSON.stringify(names)}`,
    )
  }
  await stack.stop()
})

test.serial('the examples pass, and the results are written as a table and as JUnit', async t => {
  const home = openHome()
  const {code, out, err} = await home.run(['test', examples, '--junit', join(home.here, 'results.xml')], {seconds: 200})
  t.is(code, 0, out + err)
  t.is(out.split('\n').filter(line => line.startsWith('passed')).length, 5)
  t.regex(readFileSync(join(home.here, 'results.xml'), 'utf8'), /<testsuites name="lading test" tests="5" failures="0" /)
})

test.serial('a failed case is exit code 2, with its differences as lines and as JSON', async t => {
  const home = openHome()
  cpSync(folder, join(home.here, 'crm'), {recursive: true})
  const at = join(home.here, 'crm/tests/leads.yaml')
  writeFileSync(at, readFileSync(at, 'utf8').replace('created: 2', 'created: 3').replace('Diaz Studio', 'Other Studio'))
  for (const other of ['companies', 'contacts', 'nameless']) writeFileSync(join(home.here, `crm/tests/${other}.yaml`), '')
  const {code, out} = await home.run(['test', 'crm', '--json', '--junit', 'results.xml'], {seconds: 200})
  t.is(code, 2, out)
  const {passed, failed, cases} = JSON.parse(out)
  t.deepEqual([passed, failed], [0, 1])
  t.deepEqual(cases[0].differences, [
    {module: null, field: null, row: null, message: '2 created instead of 3'},
    {module: 'Leads', field: 'Company', row: null, message: '"Diaz Studio" instead of "Other Studio" in "Rosa"'},
  ])
  t.regex(readFileSync(join(home.here, 'results.xml'), 'utf8'), /<failure message="2 created instead of 3">/)
})

/** Copies the example that asks a question, changed so in each case. Returns the home. */
const openQuestions = (...cases: [replaced: string, by: string][][]) => {
  const home = openHome()
  cpSync(folder, join(home.here, 'crm'), {recursive: true})
  for (const other of ['companies', 'leads', 'nameless']) writeFileSync(join(home.here, `crm/tests/${other}.yaml`), '')
  const at = join(home.here, 'crm/tests/contacts.yaml')
  const [, asking] = readFileSync(at, 'utf8').split('\n\n')
  const changed = cases.map(changes => changes.reduce((text, [replaced, by]) => text.replace(replaced, by), asking!))
  writeFileSync(at, changed.join('\n'))
  return home
}

const hobbs = '{row: 1, record: {Last_Name: Hobbs-Lane}}'

test.serial('an answer that fits no question or no candidate is a difference', async t => {
  const answers = ['{row: 25, choice: create}', '{row: 1, record: {Last_Name: Absent}}', '{row: 1, flow: other, choice: create}']
  const home = openQuestions(...answers.map((answer): [string, string][] => [[hobbs, answer]]))
  const {code, out} = await home.run(['test', 'crm', '--json'], {seconds: 200})
  t.is(code, 2, out)
  const none = 'no such question has this row among its first 20 rows'
  t.deepEqual(
    JSON.parse(out).cases.map(({differences}: any) => differences),
    [
      [{module: null, field: null, row: 25, message: none}],
      [{module: null, field: null, row: 1, message: 'no candidate has {"Last_Name":"Absent"}'}],
      [{module: null, field: null, row: 1, message: none}],
    ],
  )
})

test.serial('an answer that selects a record answers only questions with this candidate, and compares a lookup by name', async t => {
  const lead = (name: string) => `        - {Last_Name: ${name}, Company: Example Ltd, Email: ada@harbour.example}\n`
  const leads: [string, string] = ['  answers:', `      Leads:\n${lead('Kim')}${lead('Lee')}  answers:`]
  const both: [string, string] = [hobbs, `${hobbs}\n    - {row: 1, record: {Last_Name: Lee}}`]
  const linked: [string, string] = ['Hobbs-Lane, First_Name: Ada', 'Hobbs-Lane, First_Name: Ada, Account_Name: Brightwater Foods']
  const named: [string, string] = [hobbs, '{row: 1, flow: contacts, record: {Account_Name: Brightwater Foods}}']
  const counted = (created: number, updated: number) =>
    ['{created: 1, updated: 1}', `{created: ${created}, updated: ${updated}}`] as [string, string]
  const home = openQuestions([leads, both, counted(2, 2)], [linked, named, counted(3, 1)])
  const at = join(home.here, 'crm/templates/contacts-of-companies.json')
  const template = JSON.parse(readFileSync(at, 'utf8'))
  const fields = Object.entries({Last_Name: 'Last name', Company: 'Company', Email: 'E-mail'}).map(([field, source]) => ({
    field,
    mode: 'column',
    source,
  }))
  template.flows.push({...template.flows[0], id: 'leads', module: 'Leads', fields})
  writeFileSync(at, JSON.stringify(template))
  const {code, out} = await home.run(['test', 'crm', '--json'], {seconds: 200})
  t.is(code, 0, out)
})

test.serial('a connection that discovery.json lacks fails only the cases of its templates, and no run waits for an approval', async t => {
  const home = openHome()
  cpSync(folder, join(home.here, 'crm'), {recursive: true})
  const edit = (path: string, change: (text: string) => string) =>
    writeFileSync(join(home.here, 'crm', path), change(readFileSync(join(folder, path), 'utf8')))
  const connectorId = 'con_01m86x2jdge00awmefqtngx1kz'
  const change = (values: object) => (text: string) => JSON.stringify({...JSON.parse(text), ...values})
  edit('settings.json', change({approvalAbove: 0, guard: {refused: 0}}))
  edit('templates/leads-of-the-fair.json', change({connectorId}))
  for (const part of ['modules', 'fields']) mkdirSync(join(home.here, 'crm', part))
  const things = {key: 'things', order: 1, apiName: 'Things', connectorId, enabled: true, singular: null, match: null}
  writeFileSync(join(home.here, 'crm/modules/things.json'), JSON.stringify({...things, uniqueFields: [], exclusions: [], seedMappings: []}))
  writeFileSync(join(home.here, 'crm/fields/things.json'), JSON.stringify([{apiName: 'Name', pii: true}]))
  for (const other of ['contacts', 'nameless']) writeFileSync(join(home.here, `crm/tests/${other}.yaml`), '')
  const {code, out, err} = await home.run(['test', 'crm', '--json'], {seconds: 200})
  t.is(code, 2, out + err)
  t.deepEqual(
    JSON.parse(out).cases.flatMap(({differences}: any) => differences.map(({message}: any) => message)),
    ['The configuration has no shared template Leads of the fair, or its connection is not in discovery.json. Add what is missing'],
  )
})

test.serial('records are compared in the pairs that match, in any order', async t => {
  const [both, one, other] = ['{Last_Name: Hobbs, First_Name: A.}', '{First_Name: A.}', '{First_Name: Ada}']
  const ada = '{Last_Name: Hobbs, First_Name: Ada, Account_Name: Harbour Freight Ltd}'
  const loose: [string, string] = [both, '{Last_Name: Hobbs}']
  const home = openQuestions([loose, [ada, one]], [loose, [ada, other]])
  const {code, out} = await home.run(['test', 'crm', '--json'], {seconds: 200})
  t.is(code, 0, out)
})

test.serial('a signal during the cases ends with its exit code', async t => {
  const failing: [string, string] = ['created: 1', 'created: 9']
  const home = openQuestions(...Array.from({length: 20}, () => [failing]))
  const testing = home.start(['test', 'crm'], {seconds: 200})
  await until(testing.err, text => text.includes('Failed:'))
  testing.child.kill('SIGTERM')
  const {code, err} = await testing.ended
  t.is(code, 143, err)
  t.regex(err, /Error: Interrupted/)
})

test('a folder without a discovery or without cases is refused with what to do', async t => {
  const home = openHome()
  t.like(await home.run(['test', home.here]), {code: 4})
  t.regex(
    (await home.run(['test', home.here])).err,
    /has no discovery\.json\nPull the configuration with its discovery: lading config pull/,
  )
  writeFileSync(join(home.here, 'discovery.json'), JSON.stringify({format: 1, connections: []}))
  t.regex((await home.run(['test', home.here])).err, /has no cases\nWrite one to /)
})

import test from 'ava'
import {newId} from '../../shared/ids.ts'
import {sql} from '../../sql/database.ts'
import {ok} from '../support/importing.ts'
import {addConnector} from '../support/registry.ts'
import {leadsCsv, leadsTemplate, makeTemplate, openTemplates, outcome, upload} from '../support/templates.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {writeWorkbook} from '../support/workbook.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

const open = () => openTemplates(house)

test('an import made from a template is ready once its file is uploaded, even if the template is deleted', async t => {
  const {org, call, connector, path} = await open()
  const {id} = await makeTemplate(call, org, {connectorId: connector})
  const {import: made} = await ok(call('POST', `/orgs/${org}/imports`, {templateId: id}), 201)
  t.like(made, {name: 'Leads of the month', connectorId: connector, state: 'draft', templateId: id, templateVersion: 1})
  await ok(call('DELETE', path(id)), 200)
  const at = `/orgs/${org}/imports/${made.id}`
  const {source, filled} = await ok(upload(call, at, leadsCsv), 201)
  t.deepEqual(filled, {slot: 'leads', state: 'ready', waiting: [], issues: []})
  t.is(source.label, 'Leads')
  const {import: ready} = await ok(call('GET', at), 200)
  t.deepEqual(
    ready.flows,
    leadsTemplate().flows.map(flow => ({...flow, sourceId: source.id})),
  )
  t.like(ready, {state: 'ready', templateId: id})
  t.is((await ok(upload(call, at, leadsCsv), 201)).filled, undefined, 'the slot is filled: this file is for none')
})

test('a template saved from an import of failed.csv reads later files from their first column', async t => {
  const {org, call, connector} = await open()
  const failed = [
    ['lading: row', 'lading: error', 'surname', 'mail', 'firm'],
    ['1', 'Wrong', 'A', 'a@cells.example', 'F'],
  ]
  const plain = failed.map(cells => cells.slice(2))
  const csvOf = async (rows: string[][]) => rows.map(cells => `${cells.join(',')}\n`).join('')
  const workbookOf = (rows: string[][]) => writeWorkbook({sheets: [{name: 'One', rows}]})
  const {id} = await makeTemplate(call, org, {connectorId: connector})
  const fill = async (templateId: string, file: string | Buffer) => {
    const {import: made} = await ok(call('POST', `/orgs/${org}/imports`, {templateId}), 201)
    t.like((await ok(upload(call, `/orgs/${org}/imports/${made.id}`, file), 201)).filled, {state: 'ready', issues: []})
    return made.id as string
  }
  for (const write of [csvOf, workbookOf]) {
    const fromImport = await fill(id, await write(failed))
    const {template} = await ok(call('POST', `/orgs/${org}/templates`, {fromImport, name: write.name}), 201)
    await fill(template.id, await write(plain))
    await fill(template.id, await write(failed))
  }
})

test('the connection of an import is that of its template or of the request', async t => {
  const {org, call, connector} = await open()
  const other = await addConnector(house, org, 'Two')
  const [fixed, free] = [await makeTemplate(call, org, {connectorId: connector}), await makeTemplate(call, org)]
  const make = (body: object) => call('POST', `/orgs/${org}/imports`, body)
  t.like((await make({templateId: free.id, connectorId: other, name: 'N'})).body.import, {connectorId: other, name: 'N'})
  t.deepEqual(outcome(await make({templateId: free.id})), [400, 'CONNECTION_REQUIRED'])
  t.deepEqual(outcome(await make({templateId: fixed.id, connectorId: other})), [400, 'INVALID'])
  t.deepEqual(outcome(await make({templateId: free.id, connectorId: newId('con')})), [404, 'CONNECTION_NOT_FOUND'])
  t.deepEqual(outcome(await make({})), [400, 'INVALID'])
})

test('files fill their named slots; a misfit is reported, and the import stays a draft', async t => {
  const {org, call, connector} = await open()
  const usual = leadsTemplate()
  const deals = {
    id: 'd',
    sourceId: 'deals',
    module: 'Deals',
    fields: [{field: 'Deal_Name', mode: 'column', source: 'title', empty: 'leave'}],
  }
  const second = {
    slot: 'deals',
    label: 'Deals',
    reader: {delimiter: ';'},
    cleaning: [{step: 'trim', columns: ['title']}],
    choices: {when: {dateOrder: 'dmy'}},
    columns: ['title', 'when'],
  }
  const {id} = await makeTemplate(call, org, {connectorId: connector, sources: [...usual.sources, second], flows: [...usual.flows, deals]})
  const {import: made} = await ok(call('POST', `/orgs/${org}/imports`, {templateId: id}), 201)
  const at = `/orgs/${org}/imports/${made.id}`
  t.deepEqual(outcome(await upload(call, at, leadsCsv, 'name=a.csv&slot=none')), [400, 'INVALID'])
  const early = await ok(upload(call, at, 'name;when\nA;01/02/2026\n', 'name=early.csv&slot=deals'), 201)
  t.like(early.filled, {slot: 'deals', state: 'draft', waiting: ['leads', 'deals']})
  const one = await ok(upload(call, at, leadsCsv, 'name=a.csv&slot=leads'), 201)
  t.deepEqual(one.filled, {slot: 'leads', state: 'draft', waiting: ['deals'], issues: []})
  const unfit = await ok(upload(call, at, 'name;when\nA;01/02/2026\n', 'name=b.csv&slot=deals'), 201)
  t.like(unfit.filled, {slot: 'deals', state: 'draft', waiting: ['deals']})
  t.regex(unfit.filled.issues[0].message, /no column "title"/)
  t.deepEqual(
    (await ok(call('GET', at), 200)).import.flows.map(({sourceId}: any) => sourceId),
    [one.source.id, 'deals'],
  )
  t.deepEqual(outcome(await call('PUT', `${at}/slots`, {deals: unfit.source.id})), [400, 'INVALID'])
  const plain = await ok(upload(call, at, 'title;when\n A ;01/02/2026\n', 'name=c.csv'), 201)
  t.is(plain.filled, undefined)
  t.like((await ok(call('PUT', `${at}/slots`, {leads: one.source.id}), 200)).import, {state: 'draft'}, 'the other is waited for')
  const filled = await call('PUT', `${at}/slots`, {deals: plain.source.id})
  const {import: bound} = filled.body
  t.like(bound, {state: 'ready'})
  t.is(filled.headers.get('etag'), (await call('GET', at)).headers.get('etag'))
  const source = bound.sources.find(({id}: any) => id === plain.source.id)
  t.deepEqual([source.cleaning.length, source.choices], [1, {when: {dateOrder: 'dmy'}}])
  t.deepEqual(
    bound.slots.map(({slot, sourceId}: any) => [slot, sourceId]),
    [
      ['leads', one.source.id],
      ['deals', plain.source.id],
    ],
  )
  // A removed file must be uploaded again.
  await ok(call('DELETE', `${at}/sources/${one.source.id}`), 200)
  const again = await ok(upload(call, at, leadsCsv, 'name=a.csv&slot=leads'), 201)
  t.like(again.filled, {state: 'ready', waiting: []})
})

test('two slots that read one file differently keep the import a draft, also when columns are chosen', async t => {
  const {org, call, connector} = await open()
  const [source, flow] = [leadsTemplate().sources[0]!, leadsTemplate().flows[0]!]
  const cleaning = [{step: 'trim', columns: ['surname']}]
  const sources = [source, {...source, slot: 'trimmed', cleaning}, {...source, slot: 'last'}]
  const flows = [flow, {...flow, id: 'g', sourceId: 'trimmed'}, {...flow, id: 'h', sourceId: 'last'}]
  const {id} = await makeTemplate(call, org, {connectorId: connector, sources, flows})
  const {import: made} = await ok(call('POST', `/orgs/${org}/imports`, {templateId: id}), 201)
  const at = `/orgs/${org}/imports/${made.id}`
  const {source: file} = await ok(upload(call, at, leadsCsv), 201)
  await ok(call('PUT', `${at}/slots`, {leads: file.id, trimmed: file.id}), 200)
  const {filled} = await ok(upload(call, at, leadsCsv, 'name=last.csv&slot=last'), 201)
  t.deepEqual([filled.state, filled.issues.map(({path}: any) => path)], ['draft', [['slots', 'trimmed']]])
  const refused = await call('PUT', `${at}/columns`, {f: {Email: 'mail'}})
  t.deepEqual([outcome(refused), refused.body.issues], [[400, 'INVALID'], filled.issues])
  t.like((await ok(call('GET', at), 200)).import, {state: 'draft'})
  const own = await ok(upload(call, at, leadsCsv, 'name=own.csv&slot=leads'), 201)
  t.like(own.filled, {state: 'ready', issues: []})
  t.like((await ok(call('PUT', `${at}/columns`, {f: {Email: 'mail'}}), 200)).import, {state: 'ready'})
})

const UNFIT: [why: string, cleaning: object, file: string, message: RegExp][] = [
  ['lacks a column', {step: 'trim', columns: ['surname']}, 'family name,mail\nA,a@b.example\n', /no column "surname"/],
  ['has a row that fails', {step: 'strikeWhere', expression: "row.mail.split('@')[1].length < 3"}, 'surname,mail\nA,\n', /fails at row 1/],
]
for (const [why, step, file, message] of UNFIT)
  test(`a file that ${why} in the cleaning of its filled slot empties the slot, so no run imports the earlier file`, async t => {
    const {org, call, connector} = await open()
    const [leads] = leadsTemplate().sources
    const sources = [{...leads, cleaning: [step]}]
    const {id} = await makeTemplate(call, org, {connectorId: connector, sources})
    const {import: made} = await ok(call('POST', `/orgs/${org}/imports`, {templateId: id}), 201)
    const at = `/orgs/${org}/imports/${made.id}`
    const put = async (csv: string) => (await ok(upload(call, at, csv, 'name=a.csv&slot=leads'), 201)).filled
    t.like(await put(leadsCsv), {state: 'ready', waiting: []})
    const unread = await put(file)
    t.like(unread, {state: 'draft', waiting: ['leads']})
    t.regex(unread.issues[0].message, message)
    const {import: emptied} = await ok(call('GET', at), 200)
    t.like(emptied, {state: 'draft', flows: [{sourceId: 'leads'}], slots: [{sourceId: null}]})
    t.deepEqual(outcome(await call('POST', `${at}/runs`, {})), [409, 'NOT_READY'])
    t.like(await put(leadsCsv), {state: 'ready', waiting: []})
  })

test('a slot becomes empty if a person picks a sheet without rows in the range of the slot', async t => {
  const {org, call, connector} = await open()
  const sources = [{...leadsTemplate().sources[0]!, reader: {range: 'A2'}}]
  const {id} = await makeTemplate(call, org, {connectorId: connector, sources})
  const {import: made} = await ok(call('POST', `/orgs/${org}/imports`, {templateId: id}), 201)
  const at = `/orgs/${org}/imports/${made.id}`
  const rows = [
    ['surname', 'mail', 'firm'],
    ['A', 'a@cells.example', 'F'],
  ]
  const sheets = [
    {name: 'January', rows: [['Leads'], ...rows]},
    {name: 'February', rows},
  ]
  const january = await ok(upload(call, at, await writeWorkbook({sheets}), 'name=a.xlsx&slot=leads'), 201)
  t.like(january.filled, {state: 'ready', waiting: []})
  const {filled} = await ok(call('POST', `${at}/sources?slot=leads`, {fromSource: january.source.id, sheet: 'February'}), 201)
  t.like(filled, {state: 'draft', waiting: ['leads']})
  t.regex(filled.issues[0].message, /no rows below/)
})

test('columns are chosen from the flows of the template each time, and an ended import stores no flows', async t => {
  const {org, call, connector} = await open()
  const {id} = await makeTemplate(call, org, {connectorId: connector})
  const {import: made} = await ok(call('POST', `/orgs/${org}/imports`, {templateId: id}), 201)
  const at = `/orgs/${org}/imports/${made.id}`
  const {source} = await ok(upload(call, at, leadsCsv.replace('mail', 'E-mail')), 201)
  const choose = async (columns: object) => (await ok(call('PUT', `${at}/columns`, columns), 200)).import.flows
  t.like((await choose({f: {Email: null}}))[0].fields[1], {field: 'Email', mode: 'skip'})
  t.like((await choose({f: {Email: 'E-mail'}}))[0].fields[1], {field: 'Email', mode: 'column', source: 'E-mail'})
  const [flow] = await choose({f: {Email: 'firm'}})
  await ok(call('PUT', `${at}/flows`, [{...flow, id: 'other'}]), 200)
  const [again] = await choose({f: {Email: 'E-mail'}})
  t.like(again, {id: 'f', sourceId: source.id}, 'a replaced flow reads the file of its slot')
  await ok(call('DELETE', at), 200)
  const kept = await house.db.one(sql.unsafe`select flows, template_flows from imports where id = ${made.id}`)
  t.deepEqual(kept, {flows: [], template_flows: null})
})

test('runs name the template they were authorised for, and its history lists them', async t => {
  const {org, call, connector, path, as} = await open()
  const {id} = await makeTemplate(call, org, {connectorId: connector})
  const authorise = async (body: object) => (await ok(call('POST', '/entitlements/runs/authorise', {declaredRows: 5, ...body}), 200)).runId
  const named = await authorise({templateId: id})
  const {import: made} = await ok(call('POST', `/orgs/${org}/imports`, {templateId: id}), 201)
  const through = await authorise({importId: made.id})
  await authorise({})
  const first = await ok(call('GET', path(id, '/runs?limit=1')), 200)
  const second = await ok(call('GET', path(id, `/runs?limit=1&cursor=${first.nextCursor}`)), 200)
  t.deepEqual(
    [...first.runs, ...second.runs].map(({id, templateId, importId}: any) => [id, templateId, importId]),
    [
      [through, id, made.id],
      [named, id, null],
    ],
  )
  t.is(second.nextCursor, null)
  const {import: plain} = await ok(call('POST', `/orgs/${org}/imports`, {connectorId: connector}), 201)
  t.deepEqual(outcome(await call('POST', '/entitlements/runs/authorise', {declaredRows: 5, templateId: id, importId: plain.id})), [
    400,
    'INVALID',
  ])
  const stranger = await as('builder')
  t.deepEqual(outcome(await stranger.call('POST', '/entitlements/runs/authorise', {declaredRows: 5, templateId: id})), [404, 'NOT_FOUND'])
  await ok(call('DELETE', path(id)), 200)
  t.like(await ok(call('GET', `/orgs/${org}/runs/${named}`), 200), {run: {templateId: id}}, 'what it was made by stays known')
})

test('a run authorised for a template can start only an import made from it', async t => {
  const {org, call, connector} = await open()
  const [one, other] = [await makeTemplate(call, org, {connectorId: connector}), await makeTemplate(call, org, {connectorId: connector})]
  const {runId} = await ok(call('POST', '/entitlements/runs/authorise', {declaredRows: 5, templateId: other.id}), 200)
  const {import: made} = await ok(call('POST', `/orgs/${org}/imports`, {templateId: one.id}), 201)
  const at = `/orgs/${org}/imports/${made.id}`
  await ok(upload(call, at, leadsCsv), 201)
  t.deepEqual(outcome(await call('POST', `${at}/runs`, {runId})), [409, 'RUN_USED'])
  const {run} = await ok(call('POST', `${at}/runs`, {}), 202)
  t.is(run.templateId, one.id)
})

test('a staff view that fills slots in vain stays recorded, because the files keep their new readings', async t => {
  const {org, call, connector} = await open()
  const [slot] = leadsTemplate().sources
  const {id} = await makeTemplate(call, org, {connectorId: connector, sources: [{...slot, cleaning: [{step: 'trim'}]}]})
  const {import: made} = await ok(call('POST', `/orgs/${org}/imports`, {templateId: id}), 201)
  const at = `/orgs/${org}/imports/${made.id}`
  const {source} = await ok(upload(call, at, 'name,when\nA,B\n'), 201)
  await ok(call('PATCH', `${at}/sources/${source.id}`, {cleaning: []}), 200)
  const view = house.as(await house.openView({org, write: true}))
  t.deepEqual(outcome(await view('PUT', `${at}/slots`, {leads: source.id})), [400, 'INVALID'])
  t.is((await ok(call('GET', `${at}/sources/${source.id}`), 200)).source.cleaning.length, 1)
  const {actions} = await ok(house.as(house.adminToken)('GET', `/staff/actions?org=${org}`), 200)
  t.like(actions[0], {kind: 'write', detail: {method: 'PUT', route: '/orgs/:org/imports/:id/slots', target: {id: made.id}}})
})

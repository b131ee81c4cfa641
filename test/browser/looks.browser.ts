import assert from 'node:assert/strict'
import {test} from 'node:test'
import type {Page} from 'playwright-core'
import {ok, openOrg, untilEnded} from '../support/importing.ts'
import {until} from '../support/until.ts'
import {companies, csvOf, fairFile, peopleOf} from './people.ts'
import {assertAccessible, assertFits, enter, picture, settled, stage, type Visitor} from './stage.ts'

const made = {session: '', open: '', done: '', template: '', dryRun: ''}

const heads = ['name', 'number', 'industry', 'city']
const rows = Array.from({length: 120}, (_, n) => {
  const [name, city] = companies[n % companies.length]!
  return [`${name} ${city} ${n + 1}`, `AC-${2000 + n}`, n % 9 === 4 ? 'Agriculture' : 'Food', city]
})
rows[7]![0] = 'Twin Bakeries'
const flow = {
  id: 'accounts',
  module: 'Accounts',
  match: {by: ['Account_Name'], onOne: 'update', onMany: 'ask'},
  fields: [
    {field: 'Account_Name', mode: 'column', source: 'name'},
    {field: 'Account_Number', mode: 'column', source: 'number'},
    {field: 'Industry', mode: 'column', source: 'industry'},
    {field: 'Billing_City', mode: 'expression', transform: "row['city'].trim()"},
  ],
}

/**
 * A deployment with two imports. One is new and has open questions about dates. The other was tried, checked and run, and has failed rows
 * and a question.
 */
const here = stage('browser looks', async world => {
  const org = await openOrg(world)
  const {call, connector} = org
  const base = `/orgs/${org.org}`
  world.crm.create('example', 'Accounts', [
    {Account_Name: 'Twin Bakeries'},
    {Account_Name: 'Twin Bakeries'},
    {Account_Name: rows[0]![0], Billing_City: 'Madrid'},
  ])
  const begin = async (name: string, file: string, csv: string) => {
    const {import: begun} = await ok(call('POST', `${base}/imports`, {name, connectorId: connector}), 201)
    const path = `${base}/imports/${begun.id}`
    const {source} = await ok(call('POST', `${path}/sources?name=${file}`, csv, {'content-type': 'text/csv'}), 201)
    return {path, id: begun.id as string, source: source.id as string}
  }
  const run = async (path: string, body: object) => {
    const {run: begun} = await ok(call('POST', `${path}/runs`, body), 202)
    await untilEnded(call, `${path}/runs/${begun.id}`)
    return begun.id as string
  }
  const open = await begin('Contacts of the Lisbon fair', 'lisbon-contacts.csv', fairFile(peopleOf(60)))
  const done = await begin('Customers of spring', 'customers.csv', csvOf([heads, ...rows]))
  await ok(call('PUT', `${done.path}/flows`, [{...flow, sourceId: done.source}]), 200)
  await ok(call('POST', `${done.path}/checks`, {}), 202)
  await until(
    async () => (await ok(call('GET', `${done.path}/checks`), 200)).checks.endedAt,
    endedAt => endedAt !== null,
  )
  const dryRun = await run(done.path, {dryRun: true})
  await run(done.path, {})
  const {template} = await ok(call('POST', `${base}/templates`, {fromImport: done.id, name: 'Customers of a season'}), 201)
  Object.assign(made, {session: org.session, open: open.id, done: done.id, template: template.id, dryRun})
})

/** Lists the pages of an import and other pages, each with an element to wait for. */
const pages = (): [address: string, awaited: string][] => [
  ['/imports', 'table'],
  ['/imports/new', 'form'],
  [`/imports/${made.open}/match`, '.match-column'],
  [`/imports/${made.done}/match?field=Billing_City`, '.results li'],
  [`/imports/${made.done}/review?run=${made.dryRun}`, '.plan-changes'],
  [`/imports/${made.done}/review?tab=errors`, '.cell-button'],
  [`/imports/${made.done}/run`, '.run-reasons'],
  [`/imports/${made.done}/results`, '.rows-table'],
  [`/imports/${made.done}/questions`, '.run-question'],
  [`/imports/${made.done}/runs`, 'table'],
  ['/runs', 'table'],
  ['/templates', 'table'],
  [`/templates/${made.template}`, 'table'],
  [`/templates/${made.template}/schedules/new`, 'form'],
  ['/connections', '.connection'],
]

const settingsPages = ['', '/modules', '/libraries', '/notices', '/members', '/tokens', '/sessions', '/plan', '/changes'].map(
  (path): [string, string] => [`/settings${path}`, '.settings, form, table, section, .empty'],
)

type Look = {language: 'en' | 'de'; width: number; scheme: 'light' | 'dark'}
const looks: Look[] = (['en', 'de'] as const).flatMap(language =>
  [1440, 360].flatMap(width => (['light', 'dark'] as const).map(scheme => ({language, width, scheme}))),
)
const optionsOf = ({language, width, scheme}: Look) => ({
  locale: language === 'de' ? 'de-DE' : 'en-US',
  colorScheme: scheme,
  viewport: {width, height: width < 600 ? 740 : 900},
})
const signInWords = {en: 'Continue with your CRM', de: 'Weiter mit Ihrem CRM'}

for (const look of looks) {
  const name = `${look.language}-${look.width}-${look.scheme}`
  test(`every page is usable in the look "${name}"`, async () => {
    const visitor = await here.open(optionsOf(look))
    const {page} = visitor
    await page.getByRole('button', {name: signInWords[look.language]}).waitFor()
    assert.equal(await page.locator('html').getAttribute('lang'), look.language)
    await assertUsable(visitor, `sign-in, ${name}`)
    await picture(page, `looks-${name}-sign-in`)
    await enter(visitor, made.session)
    for (const [address, awaited] of [...pages(), ...settingsPages]) {
      await page.goto(`${here.world.url}/#${address}`)
      await page.locator(`main ${awaited}`).first().waitFor()
      await settled(page)
      await assertUsable(visitor, `${address}, ${name}`)
      await assertOneMainAction(page, `${address}, ${name}`)
      const file = address.replaceAll(/imp_\w+|tpl_\w+|\?run=\w+/g, '').replaceAll(/\W+/g, '-')
      await picture(page, `looks-${name}${file}`, {height: look.width < 600 ? 1400 : 1100})
    }
    if (look.language === 'en') {
      await proposals(visitor, name)
      await dialog(visitor, name)
    }
    assert.deepEqual(visitor.complaints, [])
  })
}

const dark = {colorScheme: 'dark' as const}
const phone = {viewport: {width: 360, height: 740}}

for (const [look, options] of Object.entries({light: {}, dark, phone}))
  test(`the API reference and the command line's sign-in page are usable in the look "${look}"`, async () => {
    const visitor = await here.open(options)
    const {page} = visitor
    for (const path of ['/reference', '/reference/imports', `/cli?port=4890&state=${'0123456789abcdef'.repeat(2)}`]) {
      await page.goto(here.world.url + path)
      await page.locator('h1').first().waitFor()
      await assertUsable(visitor, `${path}, ${look}`)
    }
    assert.deepEqual(visitor.complaints, [])
  })

test('the language follows the browser until a person chooses another one, which a reload keeps', async () => {
  const visitor = await here.open({locale: 'de-AT'})
  const {page} = visitor
  await enter(visitor, made.session)
  await page.getByRole('link', {name: 'Verbindungen'}).waitFor()
  await page.locator('details.account summary').click()
  await page.getByLabel('Sprache').selectOption({label: 'English'})
  await page.getByRole('link', {name: 'Connections'}).waitFor()
  await page.reload()
  await page.getByRole('link', {name: 'Connections'}).waitFor()
  assert.equal(await page.locator('html').getAttribute('lang'), 'en')
  await page.locator('details.account summary').click()
  await page.getByLabel('Language').selectOption({label: 'As in the browser'})
  await page.getByRole('link', {name: 'Verbindungen'}).waitFor()
})

const assertUsable = async ({page}: Visitor, where: string) => {
  await assertAccessible(page, where)
  await assertFits(page, where)
}

/** Asserts that a page emphasises at most one action. */
const assertOneMainAction = async (page: Page, where: string) => {
  const actions = await page.locator('main .button.main:visible').allInnerTexts()
  assert.ok(actions.length <= 1, `${where} emphasises ${actions.join(', ')}`)
}

const proposals = async (visitor: Visitor, look: string) => {
  const {page} = visitor
  await page.goto(`${here.world.url}/#/imports/${made.open}/match`)
  await page.getByRole('button', {name: 'Suggest again'}).waitFor()
  await page.getByRole('group', {name: 'How to read Birthday'}).waitFor()
  await page.getByText('Advanced', {exact: true}).click()
  await settled(page)
  await assertUsable(visitor, `suggestions, ${look}`)
}

const dialog = async (visitor: Visitor, look: string) => {
  const {page} = visitor
  await page.goto(`${here.world.url}/#/imports/${made.done}/match`)
  await page.getByRole('button', {name: 'Save as template'}).click()
  await page.getByRole('dialog').waitFor()
  await assertUsable(visitor, `a dialog, ${look}`)
  await page.keyboard.press('Escape')
}

test('a run page is usable on a phone in dark mode', async () => {
  const visitor = await here.open({...dark, ...phone})
  const {page} = visitor
  await enter(visitor, made.session)
  await page.goto(`${here.world.url}/#/imports/${made.done}/run`)
  await page.locator('.run-reasons').waitFor()
  await settled(page)
  await assertUsable(visitor, 'a run on a phone in the dark')
  await picture(page, 'phone', {height: 860})
})

test('a phone shows ten rows of the results, and each written row in one line', async () => {
  const visitor = await here.open(phone)
  const {page} = visitor
  await enter(visitor, made.session)
  await page.goto(`${here.world.url}/#/imports/${made.done}/results`)
  const written = page.locator('.rows-table tbody tr').filter({has: page.getByText('Created', {exact: true})})
  await written.first().locator('.row-face').waitFor()
  await settled(page)
  assert.equal(await page.locator('.rows-table .row-toggle').count(), 10)
  for (const row of await written.all()) {
    const {height} = (await row.boundingBox())!
    assert.ok(height <= 44, `a written row is ${height} px high`)
  }
  await assertUsable(visitor, 'the results on a phone')
  await picture(page, 'results-phone', {height: 1200})
  await page.getByRole('button', {name: 'Next page'}).click()
  await page.locator('.rows-table .row-toggle').first().filter({hasText: '11'}).waitFor()
})

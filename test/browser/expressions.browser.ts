import assert from 'node:assert/strict'
import {test} from 'node:test'
import type {Response} from 'playwright-core'
import {accounts, type Org, openOrg, prepareImport} from '../support/importing.ts'
import {assertAccessible, assertFits, enter, picture, settled, stage, type Visitor} from './stage.ts'

let org: Org
let address = ''
const here = stage('browser expressions', async world => {
  org = await openOrg(world)
  const fields = [accounts.fields[0], {field: 'Billing_City', mode: 'expression', transform: "row['city']"}]
  const flow = {...accounts, match: null, fields}
  const {path} = await prepareImport(org, {csv: 'name,city\nHarbour Foods,bilbao\nPetit Atelier,lyon\n', flow})
  address = `/imports/${path.split('/').at(-1)}/match?field=Billing_City`
})

const openEditor = async ({page}: Visitor) => {
  await page.goto(`${here.world.url}/#${address}`)
  const editor = page.getByLabel('Expression', {exact: true})
  await editor.waitFor()
  await settled(page)
  return editor
}

test('the expression editor completes helpers and columns by keys, starts from examples, and shows the result', async () => {
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  const editor = await openEditor(visitor)
  await editor.fill('')
  await page.getByLabel('Start from an example').selectOption({label: 'Every word capitalised'})
  assert.equal(await editor.inputValue(), "helpers.title(row['name'])")
  await editor.fill('')
  await editor.pressSequentially('helpers.upp')
  await page.getByRole('option', {name: /upper\(text\)/}).waitFor()
  await assertAccessible(page, 'the completions')
  await picture(page, 'expression', {from: editor})
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.keyboard.type("row['ci")
  await page.getByRole('option', {name: 'city column'}).waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Tab')
  await page.keyboard.type(')')
  assert.equal(await editor.inputValue(), "helpers.upper(row['city'])")
  await page.getByRole('list', {name: 'Results on sample rows'}).getByText('BILBAO').waitFor()
  await page.keyboard.press('Tab')
  assert.notEqual(await page.evaluate(() => (globalThis as any).document.activeElement.tagName), 'TEXTAREA', 'Tab leaves the editor')
  assert.deepEqual(visitor.complaints, [])
})

test('the expression editor is usable on a phone in dark mode', async () => {
  const visitor = await here.open({colorScheme: 'dark', viewport: {width: 360, height: 740}})
  const {page} = visitor
  await enter(visitor, org.session)
  const editor = await openEditor(visitor)
  await editor.fill('')
  await editor.pressSequentially('hel')
  await page.getByRole('listbox', {name: 'Completions'}).getByRole('option').first().waitFor()
  await assertAccessible(page, 'the completions on a phone')
  await assertFits(page, 'the completions on a phone')
  await picture(page, 'expression-phone', {from: editor})
})

test('the expression editor is loaded on the match page only, and takes at most 150 KB, compressed', async t => {
  const visitor = await here.open()
  const {page} = visitor
  const files: Response[] = []
  page.on('response', response => {
    if (/\/expressions\/\w+/.test(new URL(response.url()).pathname)) files.push(response)
  })
  await enter(visitor, org.session)
  assert.equal(files.length, 0, 'the first pages do without it')
  await openEditor(visitor)
  const sizes = await Promise.all(files.map(async file => (await file.request().sizes()).responseBodySize))
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  t.diagnostic(`the expression editor: ${bytes} bytes in ${sizes.length} files`)
  assert.ok(bytes > 1_000 && bytes <= 150 * 1024, `it takes ${bytes} bytes`)
})

import assert from 'node:assert/strict'
import {test} from 'node:test'
import {openOrg} from '../support/importing.ts'
import {assertAccessible, assertFits, enter, picture, settled, stage} from './stage.ts'
import * as person from './steps.ts'

let session = ''
const here = stage('browser files', async world => {
  session = (await openOrg(world)).session
})

const titled = `Leads of the fair,,\nexported by Ana,1 March,\nLast Name,Company,Email\n${Array.from({length: 8}, (_, n) => `Person ${n},Company ${n},p${n}@top.example`).join('\n')}\n`

for (const [name, options] of Object.entries({
  'light-1440': {viewport: {width: 1440, height: 900}},
  'dark-360': {viewport: {width: 360, height: 740}, colorScheme: 'dark' as const},
}))
  test(`a click on a row makes it the header, and its columns are matched (${name})`, async () => {
    const visitor = await here.open(options)
    const {page} = visitor
    await enter(visitor, session)
    await person.dropFile(page, page.locator('header.top'), 'Leads.csv', titled)
    const card = person.sourceCard(page, 'Leads.csv')
    await card.getByText('10 rows, 3 columns').waitFor()
    await page.getByText(/^\d of 3 columns matched/).waitFor()
    await card.getByRole('button', {name: 'Change header row'}).click()
    await card.getByRole('cell', {name: 'p0@top.example'}).waitFor()
    await settled(page)
    await assertAccessible(page, name)
    await assertFits(page, name)
    await card.scrollIntoViewIfNeeded()
    await picture(page, `header-${name}`)
    await card.getByRole('cell', {name: 'Company', exact: true}).click()
    await card.getByText('8 rows, 3 columns').waitFor()
    await page.getByText('3 of 3 columns matched').waitFor()
    await person.chooseExisting(page, 'Always add')
    await person.review(page)
    await page.getByRole('heading', {name: '8 ready', exact: true}).waitFor()
    assert.deepEqual(visitor.complaints, [])
  })

for (const [name, options] of Object.entries({
  'light-1440': {viewport: {width: 1440, height: 900}},
  'dark-360': {viewport: {width: 360, height: 740}, colorScheme: 'dark' as const},
}))
  test(`a file that could not be read offers its reading options, and is read with the chosen ones (${name})`, async () => {
    const visitor = await here.open(options)
    const {page} = visitor
    await enter(visitor, session)
    await person.makeImport(page, 'Refused')
    const choose = person.csvFile('quoted.csv', 'Last Name,Company\n"Brandt,Nordlicht\nCosta,Ponte\n')
    await person.chooseIn(page, page.getByRole('button', {name: 'Choose files'}), choose)
    const refused = page.getByRole('region', {name: 'Uploading quoted.csv'})
    await refused.getByText('A quote opened in row 1 (line 2) is never closed.').waitFor()
    assert.equal(await refused.getByRole('button', {name: /^Try again/}).count(), 0, 'the same file would be refused again')
    await assertAccessible(page, name)
    await assertFits(page, name)
    await picture(page, `refused-${name}`)
    await refused.getByLabel('Quote character').selectOption('none')
    await refused.getByRole('button', {name: 'Read again'}).click()
    await person.sourceCard(page, 'quoted.csv').getByText('2 rows, 2 columns').waitFor()
    await refused.waitFor({state: 'detached'})
    assert.deepEqual(visitor.complaints, [])
  })

test('a row whose open quote swallowed other rows is written only after a person keeps its cells', async () => {
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, session)
  await person.makeImport(page, 'Open quote')
  const lines = ['Last Name,Company,City', 'Acker,Nord,Kiel', 'Brandt,"Sud', 'Costa,West,Vigo', 'Dias,"Ost",Faro']
  await person.chooseFile(page, person.csvFile('open.csv', `${lines.join('\n')}\n`))
  const card = person.sourceCard(page, 'open.csv')
  await card.getByText('In 1 row, first in row 2, a cell of several lines may contain other rows.').waitFor()
  await assertAccessible(page, 'a file with an open quote')
  await person.matchInto(page, 'Leads')
  await person.chooseExisting(page, 'Always add')
  await person.review(page)
  const sum = page.locator('#review-sum')
  await sum.filter({hasText: /^\s*1 ready/}).waitFor()
  await person.stepTo(page, 'Match')
  await card.getByRole('button', {name: 'Import the cells as they are'}).click()
  await card.getByText('A quote seems not to be closed').waitFor({state: 'detached'})
  await person.review(page)
  await sum.filter({hasText: /^\s*2 ready/}).waitFor()
  await person.writeRows(page)
  await person.runEnded(page, /^Imported$/)
  await person.assertAccount(page, '2 created = 2 rows')
  const companies = here.world.crm.records('example', 'Leads').map(({Company}) => Company)
  assert.deepEqual(companies.slice(-2), ['Nord', '"Sud\nCosta,West,Vigo\nDias,"Ost"'])
  assert.deepEqual(visitor.complaints, [])
})

test('a large file is read with other options without uploading a part twice, also after a lost connection', async () => {
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, session)
  await person.makeImport(page, 'Large')
  const lines = Array.from({length: 11_000}, (_, n) => `Person ${n},${'Company '.repeat(100)}`)
  const file = person.csvFile('large.csv', `Last Name,Company\n${lines.join('\n')}\n"Brandt,Nordlicht\n`)
  await person.chooseIn(page, page.getByRole('button', {name: 'Choose files'}), file)
  const refused = page.getByRole('region', {name: 'Uploading large.csv'})
  await refused.getByLabel('Quote character').selectOption('none')
  await page.route(/\/uploads\/upl_\w+$/, route => route.abort(), {times: 1})
  await refused.getByRole('button', {name: 'Read again'}).click()
  await refused.getByRole('button', {name: /^Try again/}).click()
  await person.sourceCard(page, 'large.csv').getByText('11,001 rows, 2 columns').waitFor()
  assert.equal(visitor.asked.filter(url => url.endsWith('/parts/0')).length, 1)
  assert.deepEqual(visitor.complaints, [])
})

import assert from 'node:assert/strict'
import {test} from 'node:test'
import {openOrg} from '../support/importing.ts'
import {fairFile, peopleOf} from './people.ts'
import {assertAccessible, assertFits, enter, picture, settled, stage, type Visitor} from './stage.ts'
import * as person from './steps.ts'

const here = stage('browser first import')
const clean = `Last Name,Company,Email\n${Array.from({length: 20}, (_, n) => `Person ${n},Company ${n},p${n}@first.example`).join('\n')}\n`

const leads = () => here.world.crm.records('example', 'Leads').filter(({Email}) => String(Email).endsWith('@first.example'))

/** Returns a function that counts a person's mouse clicks in every window of the profile so far. */
const countEveryClick = async ({context, page}: Visitor): Promise<() => number> => {
  let clicks = 0
  await context.exposeBinding('noteClick', () => void clicks++)
  await context.addInitScript(`addEventListener('click', event => event.isTrusted && event.detail > 0 && noteClick(), true)`)
  await page.reload()
  return () => clicks
}

/** Signs in with one consent. The person's org has no connection yet. */
const signInFirst = async (visitor: Visitor, user: string) => {
  const {page} = visitor
  await page.getByRole('button', {name: 'Continue with your CRM'}).waitFor()
  await person.allowInPopUp(visitor, () => page.getByRole('button', {name: 'Continue with your CRM'}).click(), user)
  await page.getByText('Drop a spreadsheet anywhere on this page').waitFor()
}

test('from the sign-in to the finished first import, a clean file takes six clicks and a date question one more', async () => {
  const people = fairFile(peopleOf(12))
  for (const {user, name, file, wanted} of [
    {user: 'ana@example.org', name: 'Leads of the fair.csv', file: clean.replaceAll('first.example', 'six.example'), wanted: 6},
    {user: 'zoe@other.example', name: 'Contacts of the fair.csv', file: people, wanted: 7},
  ]) {
    const visitor = await here.open()
    const {page} = visitor
    const clicks = await countEveryClick(visitor)
    await signInFirst(visitor, user)
    await person.dropFile(page, page.locator('header.top'), name, file)
    const drop = 1
    await page.getByText(/^\d+ of \d+ columns matched$/).waitFor()
    await page.getByRole('radio', {name: /^Update existing, add new/}).click()
    if (file === people) {
      const question = page.getByRole('group', {name: 'How to read Birthday'})
      await question.getByRole('button', {name: /^Day, month, year/}).click()
      await question.waitFor({state: 'detached'})
    }
    await page.getByRole('button', {name: 'Review', exact: true}).click()
    await page.getByRole('button', {name: /^Import \d+ rows$/}).click()
    await person.runEnded(page, /^Imported$/)
    assert.equal(clicks() + drop, wanted, name)
    assert.deepEqual(visitor.complaints, [])
    await visitor.context.close()
  }
})

test('the choice about existing records is mandatory, and every page of a first import is accessible', async () => {
  const {session} = await openOrg(here.world)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, session)
  await page.waitForLoadState('networkidle')
  await person.dropFile(page, page.locator('header.top'), 'Leads Lisbon fair.csv', clean)
  await page.getByText('3 of 3 columns matched').waitFor()
  await page.getByRole('button', {name: 'Review', exact: true}).click()
  await page.getByText('Choose what happens to existing records in Leads').waitFor()
  assert.equal(await page.evaluate(() => (globalThis as any).document.activeElement.type), 'radio', 'the choice is mandatory')
  await page.getByRole('radio', {name: /^Update existing, add new/}).click()
  await settled(page)
  await assertAccessible(page, 'match')
  await picture(page, 'match', {height: 1400})
  await page.getByRole('button', {name: 'Review', exact: true}).click()
  await page.getByRole('heading', {name: '20 ready'}).waitFor()
  await page.getByRole('link', {name: 'Ready 20'}).waitFor()
  await settled(page)
  await assertAccessible(page, 'review')
  await picture(page, 'review', {height: 1100})
  await page.getByRole('button', {name: 'Import 20 rows'}).click()
  await person.runEnded(page, /^Imported$/)
  assert.equal(leads().length, 20)
  await page.getByRole('link', {name: 'View rows'}).click()
  const row = page.locator('.rows-table tbody tr').filter({hasText: 'Person 7'})
  const link = (await row.getByRole('link', {name: /^Open in CRM/}).getAttribute('href'))!
  const written = leads().find(({Last_Name}) => Last_Name === 'Person 7')!
  assert.equal(new URL(link).searchParams.get('id'), String(written.id))
  await person.stepTo(page, 'Run')
  await page.getByRole('button', {name: 'Repeat weekly'}).click()
  await page.getByRole('heading', {level: 1, name: 'New schedule'}).waitFor()
  assert.equal(await page.getByLabel('Repeat').inputValue(), 'weekly')
  assert.deepEqual(visitor.complaints, [])
})

test('wrong cells are fixed in the review: edited, undone, and replaced all at once', async () => {
  const {session} = await openOrg(here.world, 'zoe@other.example')
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, session)
  await page.waitForLoadState('networkidle')
  const rows = Array.from({length: 12}, (_, n) => `Guest ${n},Company ${n},${n === 3 ? 'no address' : `g${n}@fix.example`}`)
  await person.dropFile(page, page.locator('header.top'), 'Leads.csv', `Last Name,Company,Email\n${rows.join('\n')}\n`)
  await page.getByText('3 of 3 columns matched').waitFor()
  await page.getByRole('radio', {name: /^Always add/}).click()
  await page.getByRole('button', {name: 'Review', exact: true}).click()
  await page.getByRole('heading', {name: '11 ready · 1 needs attention'}).waitFor()
  await page.getByRole('link', {name: 'Fix first'}).click()
  const cell = page.getByRole('button', {name: 'Edit Email of row 4: no address'})
  await cell.waitFor()
  await picture(page, 'review-errors', {height: 1100})
  const sent: string[] = []
  page.on('request', request => request.method() !== 'GET' && sent.push(request.url()))
  await cell.click()
  await page.getByRole('textbox', {name: 'Email of row 4'}).fill('cancelled@fix.example')
  await page.keyboard.press('Escape')
  await page.locator('.cell-button:focus').waitFor()
  assert.deepEqual(sent, [], 'Escape saves nothing')
  await cell.click()
  await page.getByRole('textbox', {name: 'Email of row 4'}).fill('g3@fix.example')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', {name: '12 ready', exact: true}).waitFor()
  await page.getByRole('link', {name: /^All/}).click()
  await page.getByRole('button', {name: 'Undo the edit of Email in row 4'}).click()
  await page.getByRole('heading', {name: '11 ready · 1 needs attention'}).waitFor()
  await page.getByRole('link', {name: /^Errors/}).click()
  await page.getByRole('button', {name: 'Edit Email of row 4: no address'}).click()
  await page.getByRole('textbox', {name: 'Email of row 4'}).fill('fixed@fix.example')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', {name: '12 ready', exact: true}).waitFor()
  await page.getByRole('button', {name: 'Import 12 rows'}).click()
  await person.runEnded(page, /^Imported$/)
  const written = here.world.crm.records('other', 'Leads').map(({Email}) => Email)
  assert.ok(written.includes('fixed@fix.example'))
  assert.equal(written.length, 12)
  assert.deepEqual(visitor.complaints, [])
})

test('one question about dates costs one click, and the pages fit a phone', async () => {
  const {session} = await openOrg(here.world)
  const visitor = await here.open({viewport: {width: 360, height: 740}, colorScheme: 'dark'})
  const {page} = visitor
  await enter(visitor, session)
  await page.waitForLoadState('networkidle')
  await person.dropFile(page, page.locator('header.top'), 'Contacts of the fair.csv', fairFile(peopleOf(12)))
  const answers = page.getByRole('group', {name: 'How to read Birthday'})
  await answers.getByRole('button', {name: /^Day, month, year/}).waitFor()
  await page.getByRole('radio', {name: /^Update existing, add new/}).click()
  await settled(page)
  await assertFits(page, 'match')
  await picture(page, 'match-phone-dark', {height: 2400})
  await answers.getByRole('button', {name: /^Day, month, year/}).click()
  await answers.waitFor({state: 'detached'})
  await page.getByRole('button', {name: 'Review', exact: true}).click()
  await page.getByRole('heading', {name: /^\d+ ready/}).waitFor()
  await page.getByRole('link', {name: /^Ready/}).waitFor()
  await settled(page)
  await assertFits(page, 'review')
  await picture(page, 'review-phone-dark', {height: 1800})
  assert.deepEqual(visitor.complaints, [])
})

test('tags are kept while they are typed, and every record gets them', async () => {
  const {session} = await openOrg(here.world)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, session)
  await page.waitForLoadState('networkidle')
  await person.dropFile(page, page.locator('header.top'), 'Leads.csv', clean.replaceAll('first.example', 'tags.example'))
  await page.getByText('3 of 3 columns matched').waitFor()
  await page.getByText('Advanced', {exact: true}).click()
  const tags = page.getByLabel('Tags')
  // Several lists of options may be open; the last one has the tags.
  const options = page.locator('details', {has: tags}).last()
  if (!(await tags.isVisible())) await options.locator('> summary').click()
  await tags.waitFor()
  await tags.pressSequentially('Fair, M')
  await page.getByRole('radio', {name: /^Always add/}).evaluate(radio => (radio as any).click())
  assert.equal(await tags.inputValue(), 'Fair, M', 'the editor renders again, and the field was not left')
  await tags.pressSequentially('ay')
  await person.review(page)
  await person.writeRows(page)
  await person.runEnded(page, /^Imported$/)
  const tagged = here.world.crm.records('example', 'Leads').filter(({Email}) => String(Email).endsWith('@tags.example'))
  assert.equal(tagged.length, 20)
  for (const {Tag} of tagged) assert.deepEqual((Tag as {name: string}[]).map(({name}) => name).toSorted(), ['Fair', 'May'])
  assert.deepEqual(visitor.complaints, [])
})

import assert from 'node:assert/strict'
import {test} from 'node:test'
import {openOrg} from '../support/importing.ts'
import {assertAccessible, assertFits, picture, settled, signIn, stage, type Visitor} from './stage.ts'

const here = stage('browser settings')

const pages = ['', '/modules', '/libraries', '/notices', '/members', '/tokens', '/sessions', '/plan', '/changes']

const goTo = async ({page}: Visitor, address: string) => {
  await page.goto(`${here.world.url}/#${address}`)
  await page.getByRole('heading', {level: 1}).waitFor()
  await settled(page)
}

for (const [look, options] of Object.entries({
  light: {},
  dark: {colorScheme: 'dark' as const},
  phone: {viewport: {width: 360, height: 740}},
}))
  test(`the settings pages are usable in the look "${look}"`, async () => {
    await openOrg(here.world)
    const visitor = await here.open(options)
    await signIn(visitor)
    for (const path of pages) {
      await goTo(visitor, `/settings${path}`)
      await assertAccessible(visitor.page, `settings${path}, ${look}`)
      await assertFits(visitor.page, `settings${path}, ${look}`)
    }
    await goTo(visitor, '/settings/plan')
    await picture(visitor.page, `plan-${look}`)
    assert.deepEqual(visitor.complaints, [])
  })
